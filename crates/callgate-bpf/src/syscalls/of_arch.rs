//! The syscalls of an architecture: the tables as methods of [`Arch`], and sets of syscalls as text.
//!
//! [`SyscallFacts::args`] describes syscalls as x86-64 defines them. This
//! module says where an architecture deviates, and refuses to guess:
//!
//! - ABIs with 32-bit registers pass a 64-bit value (`loff_t`, `u64`) in two arguments, some after a
//!   pad word, so arguments from there on have a number but no name;
//! - the `mmap` of x86, m68k, s390 and s390x and the `select` of x86 and m68k take a pointer to
//!   their arguments (`sys_old_mmap`, `sys_old_select`);
//! - `clone` takes its first two arguments in the other order on s390 and s390x, and everywhere but
//!   on x86-64 the order of `child_tidptr` and `tls` depends on the architecture
//!   (`CONFIG_CLONE_BACKWARDS` in `kernel/fork.c`).

use std::fmt::{self, Write};

use callgate_core::{Arch, SyscallSet};

use super::facts::{ArgFacts, SyscallFacts};
use super::table::{
    KnownSyscall, ROWS, SLOTS, column, facts, has_multiplexers, name_of_row, rows, slot, slot_from,
};
use crate::suggest::nearest;

/// The syscalls of an [`Arch`]: numbers, names, and where their arguments are.
pub trait SyscallTable: Copy + Sized {
    /// The number of a syscall as a filter sees it: for x32 with the bit 0x4000_0000, for MIPS from 4000,
    /// 5000 and 6000 on. `None` if this architecture does not have the syscall.
    fn number(self, name: &str) -> Option<u32>;

    /// The name of a syscall by its number as a filter sees it. `None` if the number is not in use.
    ///
    /// If the headers have two names for a number, this is the one that they define with the
    /// number itself: `arm_sync_file_range`, not `sync_file_range2`, on arm.
    fn syscall_name(self, nr: u32) -> Option<&'static str>;

    /// All syscalls of this architecture, in the order of their numbers as a filter sees them.
    fn syscalls(self) -> impl Iterator<Item = (u32, &'static str)>;

    /// The numbers of [`SyscallTable::syscalls`]. The names stay untouched: they are far larger than the numbers.
    fn syscall_numbers(self) -> impl Iterator<Item = u32>;

    /// Those of [`SyscallTable::syscall_numbers`] from `first` to `last`.
    ///
    /// ```
    /// use callgate_bpf::SyscallTable;
    /// use callgate_core::Arch;
    ///
    /// assert!(Arch::X86_64.syscall_numbers_within(400, 425).eq([424, 425]));
    /// ```
    fn syscall_numbers_within(self, first: u32, last: u32) -> impl Iterator<Item = u32>;

    /// Whether it has `socketcall` and `ipc`.
    fn has_multiplexers(self) -> bool;

    /// The multiplexer for `name` on this architecture, `socketcall` or `ipc`, and the number of its
    /// sub-call. Many architectures have the syscall with a number of its own as well, see
    /// [`SyscallTable::number`].
    ///
    /// The sub-call is the multiplexer's first argument. That of `ipc` carries a version in its
    /// high half, so a filter compares its low 16 bits only. The arguments of the sub-call of
    /// `socketcall` are in memory, where no filter reads them.
    fn multiplexed(self, name: &str) -> Option<(&'static str, u32)>;

    /// The argument of a syscall by its name in the kernel's definition.
    ///
    /// ```
    /// use callgate_bpf::SyscallTable;
    /// use callgate_core::Arch;
    ///
    /// let count = Arch::X86_64.argument("write", "count")?;
    /// assert_eq!((count.index, count.bits), (2, Some(64)));
    /// assert_eq!(Arch::X86.argument("write", "count")?.bits, Some(32));
    /// assert_eq!(
    ///     Arch::X86_64.argument("write", "size").unwrap_err().to_string(),
    ///     r#"no argument named "size"; write(2) has fd, buf, count"#
    /// );
    /// # Ok::<(), callgate_bpf::syscalls::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    /// When the syscall has no such argument, or its place on this architecture is not known.
    fn argument(self, syscall: &str, name: &str) -> Result<Argument, ArgumentError>;

    /// The argument of a syscall by its number, from 0.
    ///
    /// # Errors
    /// When the syscall has fewer arguments, or `index` is more than 5.
    fn argument_at(self, syscall: &str, index: u32) -> Result<Argument, ArgumentError>;
}

impl SyscallTable for Arch {
    fn number(self, name: &str) -> Option<u32> {
        KnownSyscall::named(name)?.number(self)
    }

    fn syscall_name(self, nr: u32) -> Option<&'static str> {
        let slot = slot(nr.checked_sub(self.first_number())?)?;
        name_of_row(*ROWS.get(column(self))?.get(slot)?)
    }

    fn syscalls(self) -> impl Iterator<Item = (u32, &'static str)> {
        rows(self, 0, SLOTS).filter_map(|(nr, row)| Some((nr, name_of_row(row)?)))
    }

    fn syscall_numbers(self) -> impl Iterator<Item = u32> {
        rows(self, 0, SLOTS).map(|(nr, _)| nr)
    }

    fn syscall_numbers_within(self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let lowest = self.first_number();
        let start = slot_from(first.saturating_sub(lowest));
        let after = last.checked_sub(lowest).map_or(Some(0), |last| last.checked_add(1));
        rows(self, start, after.map_or(SLOTS, slot_from)).map(|(nr, _)| nr)
    }

    fn has_multiplexers(self) -> bool {
        has_multiplexers(self)
    }

    fn multiplexed(self, name: &str) -> Option<(&'static str, u32)> {
        KnownSyscall::named(name)?.multiplexed(self)
    }

    fn argument(self, syscall: &str, name: &str) -> Result<Argument, ArgumentError> {
        let error = |kind| error(self, syscall, name.to_owned(), kind);
        let Some(known) = facts(syscall).filter(|facts| facts.args_known) else {
            return error(Kind::Unknown);
        };
        let Some(index) = known.args.iter().position(|arg| arg.name == name) else {
            return error(Kind::NoName(known));
        };
        if takes_pointer(self, syscall) {
            return error(Kind::Pointer);
        }
        if !self.has_wide_registers() && known.args.iter().take(index + 1).any(is_two_words) {
            return error(Kind::TwoWords);
        }
        let swapped = matches!(self, Arch::S390 | Arch::S390x);
        let index = match (syscall, index as u8) {
            ("clone", index @ (0 | 1)) if swapped => 1 - index,
            ("clone", 3 | 4) if !matches!(self, Arch::X86_64 | Arch::X32) => {
                return error(Kind::Order);
            }
            (_, index) => index,
        };
        self.argument_at(syscall, u32::from(index))
    }

    fn argument_at(self, syscall: &str, index: u32) -> Result<Argument, ArgumentError> {
        let known = facts(syscall).filter(|facts| facts.args_known);
        let error = |known| error(self, syscall, index.to_string(), Kind::NoNumber(known));
        let place = match u8::try_from(index) {
            Ok(place) if place < ARGS => place,
            _ => return error(known),
        };
        let narrow = !self.has_wide_registers();
        let bits = match known {
            _ if narrow && known.is_none_or(|known| known.args.iter().any(is_two_words)) => {
                Some(32)
            }
            None => None,
            Some(known) => match known.args.get(usize::from(place)) {
                None => return error(Some(known)),
                Some(_) if narrow => Some(32),
                Some(arg) => Some(arg.bits),
            },
        };
        Ok(Argument { index: place, bits })
    }
}

/// How many arguments a syscall has at most.
const ARGS: u8 = 6;

/// The place of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument {
    /// Its index in `args` of `seccomp_data`, 0 to 5.
    pub index: u8,
    /// How many bits the kernel reads, 32 or 64; `None` when that is unknown.
    pub bits: Option<u8>,
}

/// Why a syscall has no such argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    syscall: String,
    arch: Arch,
    /// The name or the number of the argument.
    given: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    NoName(SyscallFacts),
    Unknown,
    NoNumber(Option<SyscallFacts>),
    TwoWords,
    Pointer,
    Order,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArgumentError { syscall, arch, given, kind } = self;
        let has = |facts: &SyscallFacts| {
            let names: Vec<&str> = facts.args.iter().map(|arg| arg.name).collect();
            match names.is_empty() {
                true => format!("; {syscall}(2) has no arguments"),
                false => format!("; {syscall}(2) has {}", names.join(", ")),
            }
        };
        match kind {
            Kind::NoName(known) => {
                write!(f, "no argument named {given:?}")?;
                if let Some(nearest) = nearest(given, known.args.iter().map(|arg| arg.name)) {
                    write!(f, ", did you mean {nearest:?}?")?;
                }
                f.write_str(&has(known))
            }
            Kind::Unknown => write!(
                f,
                "the argument names of {syscall}(2) are unknown, so {given:?} is not found; give the \
                 argument by number, 0 to 5"
            ),
            Kind::NoNumber(Some(known)) => write!(f, "no argument {given}{}", has(known)),
            Kind::NoNumber(None) => {
                write!(f, "no argument {given}; a syscall has arguments 0 to {}", ARGS - 1)
            }
            Kind::TwoWords => write!(
                f,
                "on {arch}, {syscall}(2) has a 64-bit value in two arguments, so the place of {given:?} \
                 is not known by name; give both halves by number"
            ),
            Kind::Pointer => write!(
                f,
                "on {arch}, {syscall}(2) takes a pointer to its arguments, so a filter cannot read \
                 {given:?}; use {} instead",
                if syscall == "mmap" { "mmap2" } else { "_newselect" }
            ),
            Kind::Order => write!(
                f,
                "the place of {given:?} among the arguments of {syscall}(2) depends on the architecture; \
                 give it by number for {arch}"
            ),
        }
    }
}

impl std::error::Error for ArgumentError {}

fn error(arch: Arch, syscall: &str, given: String, kind: Kind) -> Result<Argument, ArgumentError> {
    Err(ArgumentError { syscall: syscall.to_owned(), arch, given, kind })
}

/// Whether all arguments of a syscall are behind a pointer.
fn takes_pointer(arch: Arch, syscall: &str) -> bool {
    match syscall {
        "mmap" => matches!(arch, Arch::X86 | Arch::M68k | Arch::S390 | Arch::S390x),
        "select" => matches!(arch, Arch::X86 | Arch::M68k),
        _ => false,
    }
}

/// Whether an argument is a value of 64 bits on every architecture.
fn is_two_words(arg: ArgFacts) -> bool {
    matches!(arg.ctype, "loff_t" | "u64" | "__u64")
}

/// The names of the syscalls in a set, for an arch token, and the ranges of numbers without names: `mount,
/// umount2, 500-4294967295`. Only the first `shown` are listed, the others counted.
pub fn list_syscalls(
    token: u32,
    syscalls: &SyscallSet,
    except: Option<u32>,
    shown: usize,
) -> String {
    let mut named: Vec<(u32, &str)> = Arch::with_token(token)
        .flat_map(SyscallTable::syscalls)
        .filter(|(nr, _)| syscalls.contains(*nr) && Some(*nr) != except)
        .collect();
    named.sort_unstable();
    let mut parts: Vec<String> = named.iter().map(|(_, name)| (*name).to_owned()).collect();
    let mut taken: Vec<u32> = named.iter().map(|(nr, _)| *nr).chain(except).collect();
    taken.sort_unstable();
    for (first, last) in gaps(syscalls, &taken) {
        parts.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    let more = parts.len().saturating_sub(shown);
    parts.truncate(shown);
    let mut text = parts.join(", ");
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The ranges of a set without some numbers, which are sorted.
fn gaps(syscalls: &SyscallSet, taken: &[u32]) -> Vec<(u32, u32)> {
    let mut gaps = Vec::new();
    for &(first, last) in syscalls.ranges() {
        let mut next = u64::from(first);
        let inside = taken.iter().filter(|nr| (first..=last).contains(nr));
        for end in inside.map(|nr| u64::from(*nr)).chain([u64::from(last) + 1]) {
            if next < end {
                gaps.push((next as u32, (end - 1) as u32));
            }
            next = end + 1;
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_argument_has_its_place_on_x86_64() {
        for (_, syscall) in Arch::X86_64.syscalls() {
            for (index, arg) in facts(syscall).unwrap().args.iter().enumerate() {
                let first = facts(syscall).unwrap().args.iter().position(|a| a.name == arg.name);
                assert_eq!(first, Some(index), "{syscall} has {} twice", arg.name);
                let found = Arch::X86_64.argument(syscall, arg.name).unwrap();
                assert_eq!(
                    found,
                    Argument { index: index as u8, bits: Some(arg.bits) },
                    "{syscall}"
                );
                assert_eq!(Arch::X86_64.argument_at(syscall, index as u32), Ok(found));
            }
        }
    }

    #[test]
    fn what_an_architecture_does_otherwise_is_refused_or_known() {
        let text =
            |arch: Arch, syscall, name| arch.argument(syscall, name).unwrap_err().to_string();
        assert!(text(Arch::X86, "mmap", "len").contains("pointer to its arguments"));
        assert!(text(Arch::S390x, "mmap", "len").contains("mmap2"));
        assert!(text(Arch::Arm, "pread64", "pos").contains("two arguments"));
        assert!(Arch::Arm.argument("pread64", "count").is_ok());
        assert!(Arch::X32.argument("pread64", "pos").is_ok());
        assert!(text(Arch::X86, "select", "n").contains("use _newselect instead"));
        assert_eq!(Arch::S390.argument("select", "n").unwrap().index, 0);
        assert_eq!(Arch::S390x.argument("clone", "clone_flags").unwrap().index, 1);
        assert_eq!(Arch::S390x.argument("clone", "newsp").unwrap().index, 0);
        assert_eq!(Arch::Aarch64.argument("clone", "clone_flags").unwrap().index, 0);
        assert!(text(Arch::Aarch64, "clone", "tls").contains("by number"));
        assert_eq!(Arch::X86_64.argument("clone", "tls").unwrap().index, 4);
        assert!(text(Arch::X86_64, "afs_syscall", "a").contains("unknown"));
        assert!(text(Arch::X86_64, "write", "cout").contains("did you mean \"count\"?"));
        assert!(text(Arch::X86_64, "getpid", "pid").contains("has no arguments"));
    }

    #[test]
    fn numbers_have_a_limit_and_a_width() {
        let at = |arch: Arch, syscall, index| arch.argument_at(syscall, index);
        assert_eq!(at(Arch::X86_64, "write", 0).unwrap().bits, Some(32));
        assert_eq!(at(Arch::X86_64, "write", 1).unwrap().bits, Some(64));
        assert_eq!(at(Arch::X86, "write", 1).unwrap().bits, Some(32));
        assert_eq!(at(Arch::X86_64, "afs_syscall", 1).unwrap().bits, None);
        assert_eq!(at(Arch::X86, "pread64", 4).unwrap().bits, Some(32));
        let text = at(Arch::X86_64, "write", 3).unwrap_err().to_string();
        assert_eq!(text, "no argument 3; write(2) has fd, buf, count");
        let text = at(Arch::X86_64, "afs_syscall", 6).unwrap_err().to_string();
        assert_eq!(text, "no argument 6; a syscall has arguments 0 to 5");
        assert!(at(Arch::X86, "pread64", 6).is_err() && at(Arch::X86, "write", 3).is_err());
    }

    #[test]
    fn sets_of_syscalls_are_named() {
        let of = |syscalls: &SyscallSet, except| {
            list_syscalls(Arch::X86_64.token(), syscalls, except, 8)
        };
        assert_eq!(of(&SyscallSet::range(0, 2), Some(1)), "read, open");
        assert_eq!(of(&SyscallSet::range(0, 2), None), "read, write, open");
        assert_eq!(of(&SyscallSet::one(1), Some(1)), "");
        assert_eq!(
            of(&SyscallSet::from_ranges([(2, 3), (0x9000_0000, u32::MAX)]), Some(2)),
            "close, 2415919104-4294967295"
        );
        assert!(of(&SyscallSet::range(0, 20), Some(0)).ends_with(" and 12 more"));
    }
}
