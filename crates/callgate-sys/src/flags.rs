//! The flags of `SECCOMP_SET_MODE_FILTER`.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of `SECCOMP_FILTER_FLAG_*` bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u32);

/// Bit, name after `SECCOMP_FILTER_FLAG_`, the kernel that introduced it (`seccomp(2)`).
const TABLE: [(Flags, &str, &str); 4] = [
    (Flags::TSYNC, "TSYNC", "3.17"),
    (Flags::LOG, "LOG", "4.14"),
    (Flags::SPEC_ALLOW, "SPEC_ALLOW", "4.17"),
    (Flags::WAIT_KILLABLE_RECV, "WAIT_KILLABLE_RECV", "5.19"),
];

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// Install in all threads of the process, or in none.
    pub const TSYNC: Flags = Flags(1);
    /// Log every verdict but ALLOW.
    pub const LOG: Flags = Flags(1 << 1);
    /// Leave the mitigation of Speculative Store Bypass off.
    pub const SPEC_ALLOW: Flags = Flags(1 << 2);
    /// A call that waits for its listener's answer is interrupted by fatal signals alone. The kernel
    /// takes it together with a listener only.
    pub const WAIT_KILLABLE_RECV: Flags = Flags(1 << 5);

    /// The bits as `seccomp(2)` takes them.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all flags of `other` are in `self`.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The flags one by one: flag, name without `SECCOMP_FILTER_FLAG_`, first kernel that knows it.
    pub fn each(self) -> impl Iterator<Item = (Flags, &'static str, &'static str)> {
        TABLE.into_iter().filter(move |(flag, ..)| self.contains(*flag))
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Flags {
    /// `TSYNC|LOG`; nothing for no flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (_, name, _)) in self.each().enumerate() {
            if i > 0 {
                f.write_str("|")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_kernel_header() {
        for (flag, bit) in [
            (Flags::TSYNC, libc::SECCOMP_FILTER_FLAG_TSYNC as u32),
            (Flags::LOG, libc::SECCOMP_FILTER_FLAG_LOG as u32),
            (Flags::SPEC_ALLOW, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW as u32),
            (Flags::WAIT_KILLABLE_RECV, libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV as u32),
        ] {
            assert_eq!(flag.bits(), bit);
        }
    }

    #[test]
    fn a_set_is_shown_as_its_names() {
        let mut set = Flags::LOG;
        set |= Flags::TSYNC;
        assert_eq!(set.to_string(), "TSYNC|LOG");
        assert_eq!(Flags::NONE.to_string(), "");
        assert!(set.contains(Flags::LOG) && !set.contains(Flags::SPEC_ALLOW));
    }
}
