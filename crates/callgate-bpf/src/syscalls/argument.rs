//! Where an argument of a syscall is found in `seccomp_data`, and how much of it the kernel reads.
//!
//! [`SyscallFacts::args`](super::SyscallFacts::args) describes syscalls as x86-64 defines them. This
//! module says where an architecture deviates, and refuses to guess:
//!
//! - ABIs with 32-bit registers pass a 64-bit value (`loff_t`, `u64`) in two arguments, some after a
//!   pad word, so arguments from there on have a number but no name;
//! - the `mmap` of x86, m68k, s390 and s390x and the `select` of x86 and m68k take a pointer to
//!   their arguments (`sys_old_mmap`, `sys_old_select`);
//! - `clone` takes its first two arguments in the other order on s390 and s390x, and everywhere but
//!   on x86-64 the order of `child_tidptr` and `tls` depends on the architecture
//!   (`CONFIG_CLONE_BACKWARDS` in `kernel/fork.c`).

use callgate_core::Arch;

use super::{SyscallFacts, facts};
use crate::suggest::nearest;

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
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    NoName { name: String, known: SyscallFacts },
    Unknown { name: String },
    NoNumber { index: u32, known: Option<SyscallFacts> },
    TwoWords { name: String },
    Pointer { name: String },
    Order { name: String },
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ArgumentError { syscall, arch, kind } = self;
        let has = |f: &mut std::fmt::Formatter<'_>, facts: &SyscallFacts| {
            let names: Vec<&str> = facts.args.iter().map(|arg| arg.name).collect();
            match names.is_empty() {
                true => write!(f, "; {syscall}(2) has no arguments"),
                false => write!(f, "; {syscall}(2) has {}", names.join(", ")),
            }
        };
        match kind {
            Kind::NoName { name, known } => {
                write!(f, "no argument named {name:?}")?;
                if let Some(nearest) = nearest(name, known.args.iter().map(|arg| arg.name)) {
                    write!(f, ", did you mean {nearest:?}?")?;
                }
                has(f, known)
            }
            Kind::Unknown { name } => write!(
                f,
                "the argument names of {syscall}(2) are unknown, so {name:?} is not found; give the \
                 argument by number, 0 to 5"
            ),
            Kind::NoNumber { index, known: Some(known) } => {
                write!(f, "no argument {index}")?;
                has(f, known)
            }
            Kind::NoNumber { index, known: None } => {
                write!(f, "no argument {index}; a syscall has arguments 0 to {}", ARGS - 1)
            }
            Kind::TwoWords { name } => write!(
                f,
                "on {arch}, {syscall}(2) has a 64-bit value in two arguments, so the place of {name:?} \
                 is not known by name; give both halves by number"
            ),
            Kind::Pointer { name } => write!(
                f,
                "on {arch}, {syscall}(2) takes a pointer to its arguments, so a filter cannot read \
                 {name:?}; use {} instead",
                if syscall == "mmap" { "mmap2" } else { "_newselect" }
            ),
            Kind::Order { name } => write!(
                f,
                "the place of {name:?} among the arguments of {syscall}(2) depends on the architecture; \
                 give it by number for {arch}"
            ),
        }
    }
}

impl std::error::Error for ArgumentError {}

/// [`SyscallTable::argument`](super::SyscallTable::argument).
pub(super) fn named(arch: Arch, syscall: &str, name: &str) -> Result<Argument, ArgumentError> {
    let error = |kind| ArgumentError { syscall: syscall.to_owned(), arch, kind };
    let own = || name.to_owned();
    let Some(known) = facts(syscall).filter(|facts| facts.args_known) else {
        return Err(error(Kind::Unknown { name: own() }));
    };
    let Some(index) = known.args.iter().position(|arg| arg.name == name) else {
        return Err(error(Kind::NoName { name: own(), known }));
    };
    if takes_pointer(arch, syscall) {
        return Err(error(Kind::Pointer { name: own() }));
    }
    if !arch.has_wide_registers() && known.args.iter().take(index + 1).any(is_two_words) {
        return Err(error(Kind::TwoWords { name: own() }));
    }
    let swapped = matches!(arch, Arch::S390 | Arch::S390x);
    let index = match (syscall, index as u8) {
        ("clone", index @ (0 | 1)) if swapped => 1 - index,
        ("clone", 3 | 4) if !matches!(arch, Arch::X86_64 | Arch::X32) => {
            return Err(error(Kind::Order { name: own() }));
        }
        (_, index) => index,
    };
    numbered(arch, syscall, u32::from(index))
}

/// [`SyscallTable::argument_at`](super::SyscallTable::argument_at).
pub(super) fn numbered(arch: Arch, syscall: &str, index: u32) -> Result<Argument, ArgumentError> {
    let known = facts(syscall).filter(|facts| facts.args_known);
    let error = |known| {
        let kind = Kind::NoNumber { index, known };
        Err(ArgumentError { syscall: syscall.to_owned(), arch, kind })
    };
    let place = match u8::try_from(index) {
        Ok(place) if place < ARGS => place,
        _ => return error(known),
    };
    let narrow = !arch.has_wide_registers();
    let bits = match known {
        _ if narrow && known.is_none_or(|known| known.args.iter().any(is_two_words)) => Some(32),
        None => None,
        Some(known) => match known.args.get(usize::from(place)) {
            None => return error(Some(known)),
            Some(_) if narrow => Some(32),
            Some(arg) => Some(arg.bits),
        },
    };
    Ok(Argument { index: place, bits })
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
fn is_two_words(arg: super::ArgFacts) -> bool {
    matches!(arg.ctype, "loff_t" | "u64" | "__u64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SyscallTable;

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
}
