//! Sets of Linux capabilities, on which the entries of a container profile can depend.
//!
//! Names and numbers are from `include/uapi/linux/capability.h` and `capabilities(7)`.

use std::fmt;
use std::str::FromStr;

use crate::diagnostics::quote::shorten;
use callgate_bpf::suggest::nearest;

/// The capabilities by number, 0 to 40 (`CAP_CHECKPOINT_RESTORE`, added last, in Linux 5.9).
#[rustfmt::skip]
const NAMES: [&str; 41] = [
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
    "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER",
    "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
];

/// The capabilities that Docker gives a container by default.
#[rustfmt::skip]
const DOCKER: &[&str] = &[
    "CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
    "CAP_MKNOD", "CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP",
    "CAP_SETUID", "CAP_SYS_CHROOT",
];

/// The capabilities that Podman gives a container by default (containers.conf(5), `default_capabilities`).
#[rustfmt::skip]
const PODMAN: &[&str] = &[
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
];

/// A set of capabilities.
///
/// ```
/// use callgate_formats::CapSet;
/// let caps: CapSet = "CAP_SYS_PTRACE,CAP_BPF".parse()?;
/// assert!(caps.contains("CAP_BPF") && !caps.contains("CAP_SYS_ADMIN"));
/// assert_eq!("docker".parse::<CapSet>()?, CapSet::docker());
/// # Ok::<(), callgate_formats::CapError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CapSet(u64);

impl CapSet {
    /// No capability.
    pub const fn none() -> CapSet {
        CapSet(0)
    }

    /// Every capability.
    pub const fn all() -> CapSet {
        CapSet((1 << NAMES.len()) - 1)
    }

    /// The fourteen capabilities that Docker gives a container by default.
    pub fn docker() -> CapSet {
        CapSet::of(DOCKER)
    }

    /// The eleven capabilities that Podman gives a container by default: Docker's without `CAP_AUDIT_WRITE`, `CAP_MKNOD`
    /// and `CAP_NET_RAW`.
    pub fn podman() -> CapSet {
        CapSet::of(PODMAN)
    }

    /// The capabilities with these bits, as in `/proc/PID/status`. Bits of newer capabilities are dropped.
    ///
    /// ```
    /// use callgate_formats::CapSet;
    /// assert_eq!(CapSet::from_bits(0xa804_25fb), CapSet::docker());
    /// assert_eq!(CapSet::from_bits(u64::MAX), CapSet::all());
    /// ```
    pub const fn from_bits(bits: u64) -> CapSet {
        CapSet(bits & CapSet::all().0)
    }

    fn of(names: &[&str]) -> CapSet {
        names.iter().filter_map(|name| bit(name)).fold(CapSet(0), |set, bit| CapSet(set.0 | bit))
    }

    /// Whether the set contains the capability with this name (`CAP_SYS_ADMIN`); `false` for an unknown name.
    pub fn contains(self, name: &str) -> bool {
        bit(name).is_some_and(|bit| self.0 & bit != 0)
    }

    /// The names of the capabilities in the set, in the order of their numbers.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().enumerate().filter(move |(n, _)| self.0 >> n & 1 != 0).map(|(_, name)| *name)
    }

    /// The set with only the capability of this name; `None` if the name is unknown.
    pub(crate) fn one(name: &str) -> Option<CapSet> {
        bit(name).map(CapSet)
    }

    /// The capabilities with these names, in any case and with or without `CAP_`; others are left out.
    pub(crate) fn of_names<'n>(names: impl Iterator<Item = &'n str>) -> CapSet {
        names
            .filter_map(|name| bit(&canonical(name)))
            .fold(CapSet(0), |set, bit| CapSet(set.0 | bit))
    }

    /// The union of two sets.
    #[must_use]
    pub const fn with(self, other: CapSet) -> CapSet {
        CapSet(self.0 | other.0)
    }

    /// The capabilities of this set that the other does not have.
    pub(crate) const fn without(self, other: CapSet) -> CapSet {
        CapSet(self.0 & !other.0)
    }

    /// The capabilities of both sets.
    pub(crate) const fn intersection(self, other: CapSet) -> CapSet {
        CapSet(self.0 & other.0)
    }

    /// Whether the other set is a subset of this one.
    pub const fn includes(self, other: CapSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether the sets have a capability in common.
    pub(crate) const fn overlaps(self, other: CapSet) -> bool {
        other.0 & self.0 != 0
    }
}

/// The bit of the capability with this name.
fn bit(name: &str) -> Option<u64> {
    NAMES.iter().position(|known| *known == name).map(|n| 1 << n)
}

impl fmt::Display for CapSet {
    /// In the form that is parsed: `all`, `none`, or names separated by commas, where `docker` and `podman` stand for
    /// their default sets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == CapSet::none() {
            return f.write_str("none");
        }
        if *self == CapSet::all() {
            return f.write_str("all");
        }
        let sets = [("docker", CapSet::docker()), ("podman", CapSet::podman())];
        let known = sets.into_iter().find(|(_, set)| self.includes(*set));
        let (name, set) = known.map_or((None, CapSet::none()), |(name, set)| (Some(name), set));
        let words: Vec<&str> = name.into_iter().chain(self.without(set).names()).collect();
        f.write_str(&words.join(","))
    }
}

/// Error: a text is not a set of capabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapError {
    given: String,
}

impl fmt::Display for CapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = shorten(&self.given);
        write!(f, "unknown capability `{given}`; ")?;
        match nearest(&canonical(&self.given), NAMES) {
            Some(name) => write!(f, "did you mean `{name}`?"),
            None => f.write_str(
                "use docker, podman, all, none, or names from capabilities(7), separated by commas",
            ),
        }
    }
}

impl std::error::Error for CapError {}

fn canonical(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("CAP_") { upper } else { format!("CAP_{upper}") }
}

impl FromStr for CapSet {
    type Err = CapError;

    /// The union of `docker`, `podman`, `all`, `none` and names, separated by commas: `docker run --cap-add SYS_PTRACE` gives
    /// `docker,SYS_PTRACE`. Names are in any case, with or without `CAP_`.
    fn from_str(text: &str) -> Result<CapSet, CapError> {
        let mut set = 0;
        for given in text.split(',').map(str::trim) {
            set |= match given {
                "docker" => CapSet::docker().0,
                "podman" => CapSet::podman().0,
                "all" => CapSet::all().0,
                "none" => CapSet::none().0,
                name => {
                    bit(&canonical(name)).ok_or_else(|| CapError { given: given.to_owned() })?
                }
            };
        }
        Ok(CapSet(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_parsed_and_printed() {
        for text in ["docker", "podman", "all", "none", "CAP_CHOWN,CAP_BPF", "podman,CAP_NET_RAW"] {
            assert_eq!(text.parse::<CapSet>().unwrap().to_string(), text);
        }
        assert_eq!("sys_admin, CAP_BPF".parse::<CapSet>().unwrap().names().count(), 2);
        let added: CapSet = "docker,SYS_PTRACE,CHOWN".parse().unwrap();
        assert!(added.contains("CAP_SYS_PTRACE") && added.names().count() == 15);
        assert_eq!("none,all".parse::<CapSet>().unwrap(), CapSet::all());
        assert_eq!(CapSet::docker().names().count(), 14);
        assert_eq!(CapSet::podman().names().count(), 11);
        assert_eq!("podman,AUDIT_WRITE,MKNOD,NET_RAW".parse::<CapSet>().unwrap(), CapSet::docker());
        assert_eq!(CapSet::all().names().count(), 41);
        assert!(!CapSet::docker().contains("CAP_SYS_ADMIN"));
    }

    #[test]
    fn an_unknown_capability_is_reported_by_name() {
        let message = |text: &str| text.parse::<CapSet>().unwrap_err().to_string();
        assert_eq!(
            message("CAP_SYS_ADMN"),
            "unknown capability `CAP_SYS_ADMN`; did you mean `CAP_SYS_ADMIN`?"
        );
        assert!(message("").contains("unknown capability ``"));
        assert!(message("docker,").contains("unknown capability ``"));
        assert!(message("docker,foo").contains("`foo`"));
    }
}
