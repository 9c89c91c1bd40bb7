//! The constants that an argument takes, and the text of its values.

use super::families::{FAMILIES, Members};
use super::table::{starting, value};
use crate::SyscallTable;
use crate::syscalls::facts;
use callgate_core::Arch;

/// The constants that an argument of a syscall takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family(&'static Members);

/// A constant, and an argument of which it is a value or a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantUse {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// The syscalls, separated by blanks.
    pub syscalls: &'static str,
    /// The name of their argument.
    pub argument: &'static str,
}

/// The constants of an architecture that arguments take, each as often as there are rows about it in the table of arguments.
///
/// ```
/// use callgate_bpf::constants::uses;
/// use callgate_core::Arch;
///
/// let alg = uses(Arch::X86_64).find(|one| one.name == "AF_ALG").ok_or("no argument takes it")?;
/// assert_eq!((alg.value, alg.syscalls, alg.argument), (38, "socket socketpair", "family"));
/// # Ok::<(), &str>(())
/// ```
pub fn uses(arch: Arch) -> impl Iterator<Item = ConstantUse> {
    FAMILIES.iter().flat_map(move |(syscalls, argument, members)| {
        let own = [members.values, members.flags].map(|patterns| constants(arch, patterns));
        own.into_iter().flatten().map(|(name, value)| ConstantUse {
            name,
            value,
            syscalls,
            argument,
        })
    })
}

impl Family {
    /// The constants of an argument, by its index in `args` of `seccomp_data`. `None` if the argument takes none, or
    /// if its place on this architecture is not known.
    pub fn of(arch: Arch, syscall: &str, index: u8) -> Option<Family> {
        FAMILIES.iter().find_map(|(syscalls, argument, members)| {
            let is_own = syscalls.split(' ').any(|one| one == syscall)
                && facts(syscall)?.args.iter().any(|known| known.name == *argument)
                && arch.argument(syscall, argument).ok()?.index == index;
            is_own.then_some(Family(members))
        })
    }

    /// Whether the argument is one of the constants, not flags.
    pub fn is_enumeration(self) -> bool {
        self.0.mask.is_none()
    }

    /// The bits that hold one of the values instead of flags. `None` if all do.
    pub fn value_bits(self, arch: Arch) -> Option<u64> {
        self.0.mask(arch)
    }

    /// The constants that consist of these bits only, flags and values, if together they have all of them.
    pub fn constants_of(self, arch: Arch, bits: u64) -> Option<Vec<(&'static str, u64)>> {
        let flags = constants(arch, self.0.flags).into_iter();
        let values = constants(arch, self.0.values).into_iter();
        let mut own: Vec<(&str, u64)> =
            flags.chain(values).filter(|(_, value)| *value != 0 && value & !bits == 0).collect();
        own.sort_by_key(|(name, value)| (*value, *name));
        let all = own.iter().fold(0, |all, (_, value)| all | value);
        (all == bits).then_some(own)
    }

    /// The text of a value: the name of a constant, or names joined by `|`. `None` if a part of it has no name.
    ///
    /// An argument of 32 bits may have the low half of a negative constant.
    pub fn name(self, arch: Arch, given: u64) -> Option<String> {
        let values = constants(arch, self.0.values).into_iter();
        let Some(mask) = self.0.mask(arch) else {
            let is_given = |known: u64| known == given || is_low_half(known, given);
            return values
                .filter(|(_, value)| is_given(*value))
                .map(|(name, _)| name.to_owned())
                .next();
        };
        let chosen =
            values.filter(|(_, value)| *value == given & mask).map(|(name, _)| name).next();
        self.flags(arch, given & !mask, chosen, given & mask)
    }

    /// The text of a mask: flags, or the number of the bits that hold a value.
    pub fn name_mask(self, arch: Arch, given: u64) -> Option<String> {
        let is_of_flags = given & self.0.mask(arch)? == 0;
        is_of_flags.then(|| self.flags(arch, given, None, 0)).flatten()
    }

    /// The text of what remains of an argument under a mask.
    pub fn name_masked(self, arch: Arch, mask: u64, wanted: u64) -> Option<String> {
        let of_values = self.0.mask(arch)?;
        match mask & of_values {
            // Without the bits of the value, 0 means that no flag is set.
            0 if wanted == 0 => None,
            0 => self.flags(arch, wanted, None, 0),
            bits if bits == of_values => self.name(arch, wanted),
            _ => None,
        }
    }

    /// Flags, after the name of a value, whose bits are `value_bits`. `None` if some bits have no name.
    fn flags(
        self,
        arch: Arch,
        given: u64,
        value: Option<&'static str>,
        value_bits: u64,
    ) -> Option<String> {
        let mut flags = constants(arch, self.0.flags);
        // Constants of several bits first: O_SYNC includes O_DSYNC.
        flags.sort_by_key(|(_, flag)| (std::cmp::Reverse(flag.count_ones()), *flag));
        let mut rest = given;
        let mut named: Vec<(&str, u64)> = Vec::new();
        for (name, flag) in flags {
            if flag != 0 && rest & flag == flag {
                rest &= !flag;
                named.push((name, flag));
            }
        }
        named.sort_by_key(|(_, flag)| *flag);
        if rest != 0 || value_bits != 0 && value.is_none() {
            return None;
        }
        // Next to flags, a value of 0 is named only if it is meant: `O_RDONLY|O_CREAT`.
        let shown = value.filter(|_| named.is_empty() || value_bits != 0 || self.0.names_zero);
        let parts: Vec<&str> =
            shown.into_iter().chain(named.iter().map(|(name, _)| *name)).collect();
        (!parts.is_empty()).then(|| parts.join("|"))
    }
}

impl Members {
    /// The bits that hold a value instead of flags; `None` for all of them.
    fn mask(&self, arch: Arch) -> Option<u64> {
        self.mask.map(|mask| match mask.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(0),
            None => value(arch, mask).unwrap_or(0),
        })
    }
}

/// Whether a value is the low half of a negative constant.
fn is_low_half(constant: u64, given: u64) -> bool {
    constant >> 31 == u64::from(u32::MAX) << 1 | 1 && given == constant & u64::from(u32::MAX)
}

/// The constants of patterns: names, `START*` for all that start so, `!PATTERN` for exceptions.
fn constants(arch: Arch, patterns: &str) -> Vec<(&'static str, u64)> {
    let matches = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    let excluded: Vec<&str> =
        patterns.split_whitespace().filter_map(|one| one.strip_prefix('!')).collect();
    let mut found = Vec::new();
    for pattern in patterns.split_whitespace().filter(|one| !one.starts_with('!')) {
        let start = pattern.strip_suffix('*').unwrap_or(pattern);
        let own = starting(arch, start).filter(|(name, _)| {
            matches(pattern, name) && !excluded.iter().any(|pattern| matches(pattern, name))
        });
        found.extend(own);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(arch: Arch, syscall: &str, index: u8, value: u64) -> Option<String> {
        Family::of(arch, syscall, index).and_then(|family| family.name(arch, value))
    }

    #[test]
    fn every_pattern_and_argument_exists() {
        for (syscalls, argument, members) in FAMILIES {
            for syscall in syscalls.split(' ') {
                let known = facts(syscall).unwrap_or_else(|| panic!("{syscall}"));
                assert!(known.args.iter().any(|arg| arg.name == *argument), "{syscall} {argument}");
            }
            for patterns in [members.values, members.flags] {
                for pattern in patterns.split_whitespace() {
                    let pattern = pattern.trim_start_matches('!');
                    let found = |arch: &Arch| !constants(*arch, pattern).is_empty();
                    assert!(Arch::ALL.iter().any(found), "{pattern}");
                }
            }
        }
    }

    /// Two names of a value would make the text depend on the order of the patterns.
    #[test]
    fn a_value_has_one_name() {
        for (syscalls, argument, members) in FAMILIES {
            for arch in Arch::ALL {
                for patterns in [members.values, members.flags] {
                    let mut known = constants(*arch, patterns);
                    known.sort_by_key(|(_, value)| *value);
                    for pair in known.windows(2) {
                        assert!(pair[0].1 != pair[1].1, "{syscalls} {argument} {arch}: {pair:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_named_per_argument() {
        let x86 = Arch::X86_64;
        assert_eq!(name(x86, "socket", 0, 38).as_deref(), Some("AF_ALG"));
        assert_eq!(name(x86, "socket", 0, 1).as_deref(), Some("AF_UNIX"));
        assert_eq!(name(x86, "socket", 0, 4000), None);
        assert_eq!(name(x86, "socket", 2, 0), None, "the meaning depends on the family");
        assert_eq!(name(x86, "socket", 1, 1).as_deref(), Some("SOCK_STREAM"));
        assert_eq!(name(Arch::Mips, "socket", 1, 1).as_deref(), Some("SOCK_DGRAM"));
        assert_eq!(name(x86, "socket", 1, 0x80002).as_deref(), Some("SOCK_DGRAM|SOCK_CLOEXEC"));
        assert_eq!(name(x86, "ioctl", 1, 0x5412).as_deref(), Some("TIOCSTI"));
        assert_eq!(name(Arch::Mips, "ioctl", 1, 0x5472).as_deref(), Some("TIOCSTI"));
        assert_eq!(name(x86, "openat", 0, 0xffff_ff9c).as_deref(), Some("AT_FDCWD"));
        assert_eq!(name(x86, "openat", 0, 0xffff_ffff_ffff_ff9c).as_deref(), Some("AT_FDCWD"));
        assert_eq!(name(x86, "prctl", 0, 22).as_deref(), Some("PR_SET_SECCOMP"));
        assert_eq!(name(x86, "personality", 0, 8).as_deref(), Some("PER_LINUX32"));
        assert_eq!(name(x86, "personality", 0, 0x20008).as_deref(), Some("PER_LINUX32|UNAME26"));
        assert_eq!(name(x86, "personality", 0, 0x4_0000).as_deref(), Some("ADDR_NO_RANDOMIZE"));
        assert_eq!(name(x86, "kill", 1, 9).as_deref(), Some("SIGKILL"));
    }

    #[test]
    fn flags_are_joined() {
        let x86 = Arch::X86_64;
        assert_eq!(name(x86, "mmap", 2, 0).as_deref(), Some("PROT_NONE"));
        assert_eq!(name(x86, "mmap", 2, 5).as_deref(), Some("PROT_READ|PROT_EXEC"));
        assert_eq!(name(x86, "mmap", 2, 0x45), None, "0x40 has no name");
        assert_eq!(name(x86, "clone", 0, 0x1000_00ff), None, "there is no signal 255");
        assert_eq!(name(x86, "mmap", 3, 0x22).as_deref(), Some("MAP_PRIVATE|MAP_ANONYMOUS"));
        assert_eq!(name(x86, "open", 1, 0).as_deref(), Some("O_RDONLY"));
        assert_eq!(name(x86, "open", 1, 0o100).as_deref(), Some("O_RDONLY|O_CREAT"));
        assert_eq!(name(x86, "open", 1, 0o4_010_002).as_deref(), Some("O_RDWR|O_SYNC"));
        assert_eq!(name(x86, "clone", 0, 17).as_deref(), Some("SIGCHLD"));
        assert_eq!(name(x86, "clone", 0, 0x1000_0011).as_deref(), Some("SIGCHLD|CLONE_NEWUSER"));
        assert_eq!(name(Arch::S390x, "clone", 1, 0x1000_0000).as_deref(), Some("CLONE_NEWUSER"));
        assert_eq!(name(Arch::S390x, "clone", 0, 0x1000_0000), None);
        assert_eq!(name(x86, "unshare", 0, 0x80).as_deref(), Some("CLONE_NEWTIME"));
        assert_eq!(name(x86, "unshare", 0, 0), None);
        assert_eq!(name(Arch::X86, "mmap", 2, 4), None, "the arguments are behind a pointer");
    }

    #[test]
    fn bits_are_constants_that_consist_of_them() {
        let of = |syscall, index| Family::of(Arch::X86_64, syscall, index).unwrap();
        let names = |family: Family, bits| {
            let found = family.constants_of(Arch::X86_64, bits)?;
            Some(found.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        let mmap = of("mmap", 3);
        assert_eq!(names(mmap, 0x12), Some(vec!["MAP_PRIVATE", "MAP_FIXED"]));
        assert_eq!(names(mmap, 0x800_0000), None, "a bit without a name");
        // O_SYNC has two bits, O_DSYNC one of them.
        let open = of("openat", 2);
        assert_eq!(names(open, 0x10_1000), Some(vec!["O_DSYNC", "O_SYNC"]));
        assert_eq!(names(open, 0x1000), Some(vec!["O_DSYNC"]));
        assert_eq!(names(open, 0x10_0000), None, "half of a constant");
        assert_eq!(of("socket", 1).value_bits(Arch::X86_64), Some(0xf));
        assert_eq!(of("socket", 0).value_bits(Arch::X86_64), None);
    }

    #[test]
    fn masks_are_flags() {
        let clone = Family::of(Arch::X86_64, "clone", 0).unwrap();
        let mask = |mask| clone.name_mask(Arch::X86_64, mask);
        assert_eq!(mask(0x1000_0000).as_deref(), Some("CLONE_NEWUSER"));
        assert_eq!(mask(0x1000_00ff), None, "bits of the signal");
        assert_eq!(clone.name_masked(Arch::X86_64, 0x1000_0000, 0), None);
        let open = Family::of(Arch::X86_64, "openat", 2).unwrap();
        assert_eq!(open.name_masked(Arch::X86_64, 3, 2).as_deref(), Some("O_RDWR"));
        assert_eq!(open.name_masked(Arch::X86_64, 1, 1), None, "half of a value");
        let socket = Family::of(Arch::X86_64, "socket", 0).unwrap();
        assert_eq!(socket.name_mask(Arch::X86_64, 1), None);
    }
}
