//! Flags of `seccomp(SECCOMP_SET_MODE_FILTER)`: how a filter is installed.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of `SECCOMP_FILTER_FLAG_*` bits (`include/uapi/linux/seccomp.h`, `seccomp(2)`).
///
/// ```
/// use callgate_bpf::FilterFlags;
///
/// let flags = FilterFlags::TSYNC | FilterFlags::LOG;
/// assert_eq!(flags.to_string(), "TSYNC|LOG");
/// assert_eq!(FilterFlags::named("LOG"), Some(FilterFlags::LOG));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FilterFlags(u32);

/// Bit, name without `SECCOMP_FILTER_FLAG_`, first kernel that supports it (`seccomp(2)`).
const TABLE: [(FilterFlags, &str, &str); 4] = [
    (FilterFlags::TSYNC, "TSYNC", "3.17"),
    (FilterFlags::LOG, "LOG", "4.14"),
    (FilterFlags::SPEC_ALLOW, "SPEC_ALLOW", "4.17"),
    (FilterFlags::WAIT_KILLABLE_RECV, "WAIT_KILLABLE_RECV", "5.19"),
];

impl FilterFlags {
    /// No flag.
    pub const NONE: FilterFlags = FilterFlags(0);
    /// Install the filter in all threads of the process, or in none.
    pub const TSYNC: FilterFlags = FilterFlags(1);
    /// Log every verdict but ALLOW.
    pub const LOG: FilterFlags = FilterFlags(1 << 1);
    /// Leave the mitigation for Speculative Store Bypass disabled.
    pub const SPEC_ALLOW: FilterFlags = FilterFlags(1 << 2);
    /// Once its notification has been received, only fatal signals interrupt a syscall. The kernel
    /// accepts this flag only together with a listener.
    pub const WAIT_KILLABLE_RECV: FilterFlags = FilterFlags(1 << 5);

    /// The bits that `seccomp(2)` takes.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all flags of `other` are in `self`.
    pub const fn contains(self, other: FilterFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags but for those of `other`.
    #[must_use]
    pub const fn without(self, other: FilterFlags) -> FilterFlags {
        FilterFlags(self.0 & !other.0)
    }

    /// Whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The flag of this name, without `SECCOMP_FILTER_FLAG_`.
    pub fn named(name: &str) -> Option<FilterFlags> {
        TABLE.into_iter().find(|(_, known, _)| *known == name).map(|(flag, ..)| flag)
    }

    /// The flags one by one: flag, name without `SECCOMP_FILTER_FLAG_`, first kernel that supports it.
    pub fn each(self) -> impl Iterator<Item = (FilterFlags, &'static str, &'static str)> {
        TABLE.into_iter().filter(move |(flag, ..)| self.contains(*flag))
    }
}

impl BitOr for FilterFlags {
    type Output = FilterFlags;
    fn bitor(self, other: FilterFlags) -> FilterFlags {
        FilterFlags(self.0 | other.0)
    }
}

impl BitOrAssign for FilterFlags {
    fn bitor_assign(&mut self, other: FilterFlags) {
        self.0 |= other.0;
    }
}

impl fmt::Display for FilterFlags {
    /// `TSYNC|LOG`; nothing for no flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.each().map(|(_, name, _)| name).collect();
        f.write_str(&names.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_shown_as_its_names() {
        let mut set = FilterFlags::LOG;
        set |= FilterFlags::TSYNC;
        assert_eq!(set.to_string(), "TSYNC|LOG");
        assert_eq!(FilterFlags::NONE.to_string(), "");
        assert!(set.contains(FilterFlags::LOG) && !set.contains(FilterFlags::SPEC_ALLOW));
    }

    #[test]
    fn flags_are_those_of_the_kernel() {
        for (name, bits) in
            [("TSYNC", 1), ("LOG", 2), ("SPEC_ALLOW", 4), ("WAIT_KILLABLE_RECV", 32)]
        {
            assert_eq!(FilterFlags::named(name).map(FilterFlags::bits), Some(bits), "{name}");
        }
        assert_eq!(FilterFlags::NONE.bits(), 0);
    }

    #[test]
    fn flags_have_the_operations_of_sets() {
        let (tsync, log) = (FilterFlags::TSYNC, FilterFlags::LOG);
        let both = tsync | log;
        assert_eq!(both.bits(), 3);
        assert_eq!((both | log, both.without(log), log.without(tsync)), (both, tsync, log));
        assert!(FilterFlags::NONE.is_empty() && !log.is_empty() && log.without(both).is_empty());
        assert!(both.contains(tsync) && both.contains(both) && !tsync.contains(both));
    }

    #[test]
    fn each_name_is_found_again() {
        for (flag, name, _) in TABLE {
            assert_eq!(FilterFlags::named(name), Some(flag));
        }
        assert_eq!(FilterFlags::named("log"), None);
    }
}
