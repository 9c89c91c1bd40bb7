//! Versions of systemd, what differs between them, and their groups of syscalls such as `@system-service`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::table::{GROUPS, Members, RELEASES};
use callgate_bpf::suggest::nearest;

/// The names of the groups of a version, with `@`, sorted.
///
/// ```
/// use callgate_formats::systemd::{SystemdVersion, group_names};
/// let has_sandbox = |version: u16| {
///     SystemdVersion::new(version).is_some_and(|version| group_names(version).any(|name| name == "@sandbox"))
/// };
/// assert!(has_sandbox(254) && !has_sandbox(252));
/// ```
pub fn group_names(version: SystemdVersion) -> impl Iterator<Item = &'static str> {
    let exists = move |ranges: &[(u16, u16, &str)]| ranges.iter().any(|range| has(range, version));
    GROUPS.iter().filter(move |(_, ranges)| exists(ranges)).map(|(name, _)| *name)
}

/// The syscalls of a group and of the groups in it, sorted; `None` if the version has no group with this name. Some are
/// syscalls that no architecture still has, and a few are names that no architecture ever had.
///
/// ```
/// use callgate_formats::systemd::{SystemdVersion, group_members};
/// let swap = group_members("@swap", SystemdVersion::LATEST);
/// assert_eq!(swap.as_deref(), Some(&["swapoff", "swapon"][..]));
/// ```
pub fn group_members(name: &str, version: SystemdVersion) -> Option<Vec<&'static str>> {
    let mut members = BTreeSet::new();
    let (first, _) = find(name, version)?;
    let mut seen = BTreeSet::from([first]);
    let mut open = vec![first];
    while let Some((_, ranges)) = open.pop().and_then(|name| find(name, version)) {
        let names = ranges.iter().filter(|range| has(range, version));
        for member in names.flat_map(|(_, _, names)| names.split_ascii_whitespace()) {
            match member.starts_with('@') {
                false => drop(members.insert(member)),
                true if seen.insert(member) => open.push(member),
                true => {}
            }
        }
    }
    Some(members.into_iter().collect())
}

/// The syscalls that systemd takes for known, so that they do not fail with ENOSYS: those of `@known` without those of the
/// group `@obsolete` in it.
pub fn known_to_systemd(version: SystemdVersion) -> impl Iterator<Item = &'static str> {
    let ranges = find("@known", version).map_or(&[][..], |(_, ranges)| ranges);
    let names = ranges.iter().filter(move |range| has(range, version));
    let all = names.flat_map(|(_, _, names)| names.split_ascii_whitespace());
    all.filter(|member| !member.starts_with('@'))
}

/// Whether a version has a group with this name.
pub(super) fn is_group(name: &str, version: SystemdVersion) -> bool {
    find(name, version).is_some()
}

/// The name of the group of this version that is most alike.
pub(super) fn nearest_group(word: &str, version: SystemdVersion) -> Option<&'static str> {
    nearest(word, group_names(version))
}

fn find(name: &str, version: SystemdVersion) -> Option<(&'static str, Members)> {
    let (name, ranges) = GROUPS.iter().find(|(known, _)| *known == name)?;
    ranges.iter().any(|range| has(range, version)).then_some((*name, *ranges))
}

fn has((first, last, _): &(u16, u16, &str), version: SystemdVersion) -> bool {
    (*first..=*last).contains(&version.number())
}

/// A version of systemd, from 252 to 258. Its behaviour and its groups are those of the last stable release of this
/// version that was examined ([`SystemdVersion::release`]); earlier stable releases may lack members of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemdVersion(u16);

impl SystemdVersion {
    /// The newest version.
    pub const LATEST: SystemdVersion = SystemdVersion(258);

    /// A version by its number; `None` if it is not supported.
    pub fn new(number: u16) -> Option<SystemdVersion> {
        RELEASES.iter().any(|(known, _)| *known == number).then_some(SystemdVersion(number))
    }

    /// The known version that is nearest to one.
    pub fn nearest(number: u16) -> SystemdVersion {
        let nearest = SystemdVersion::all().min_by_key(|known| known.number().abs_diff(number));
        nearest.unwrap_or(SystemdVersion::LATEST)
    }

    /// All versions, the oldest first.
    pub fn all() -> impl Iterator<Item = SystemdVersion> {
        RELEASES.iter().map(|(number, _)| SystemdVersion(*number))
    }

    /// The number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The stable release, such as `v258.10`.
    pub fn release(self) -> &'static str {
        RELEASES.iter().find(|(number, _)| *number == self.0).map_or("", |(_, release)| *release)
    }

    /// Whether syscalls outside `@known` get ENOSYS if the list of `SystemCallFilter=` is an allow list
    /// (`override_default_action` in `seccomp-util.c`).
    pub fn has_enosys_for_unknown(self) -> bool {
        self.0 >= 255
    }

    /// Whether `MemoryDenyWriteExecute=` uses `PR_SET_MDWE` where the kernel has it (`apply_memory_deny_write_execute` in
    /// `execute.c` and `exec-invoke.c`).
    pub(super) fn has_mdwe(self) -> bool {
        self.0 >= 254
    }

    /// Whether the process writes to a descriptor of the manager after `SystemCallFilter=` is in force, so that systemd
    /// permits `write` (`apply_syscall_filter` in `exec-invoke.c`).
    pub fn permits_write(self) -> bool {
        self.0 >= 256
    }

    /// Whether `ProtectHostname=` takes `private` and a host name (`config_parse_protect_hostname`).
    pub(super) fn has_private_hostname(self) -> bool {
        self.0 >= 258
    }

    /// Whether time namespaces are among those that `RestrictNamespaces=` retains unless it names them: before, `~user`
    /// also denied them (`NAMESPACE_FLAGS_ALL` in `nsflags.h`).
    pub(super) fn retains_time_namespaces(self) -> bool {
        self.0 >= 258
    }

    /// Whether systemd installs filters on LoongArch (`seccomp_local_archs`).
    pub(super) fn has_loongarch(self) -> bool {
        self.0 >= 255
    }
}

impl fmt::Display for SystemdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SystemdVersion {
    type Err = SystemdVersionError;

    /// Reads `258`, and stable releases such as `257.13`, `v257.13` and `257.13-1~deb13u1`, of which only the first number
    /// counts.
    fn from_str(text: &str) -> Result<SystemdVersion, SystemdVersionError> {
        let rest = text.strip_prefix('v').unwrap_or(text);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, suffix) = rest.split_at_checked(digits).unwrap_or((rest, ""));
        let is_suffix = suffix.is_empty() || suffix.starts_with(['.', '-', '~', '+']);
        let version = number.parse().ok().and_then(SystemdVersion::new).filter(|_| is_suffix);
        version.ok_or_else(|| SystemdVersionError { given: text.to_owned() })
    }
}

/// The error that a text is not a supported version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemdVersionError {
    given: String,
}

impl fmt::Display for SystemdVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = SystemdVersion::all().map(|one| one.to_string()).collect();
        write!(
            f,
            "unknown version of systemd {:?}; the versions are {}",
            self.given,
            numbers.join(", ")
        )
    }
}

impl std::error::Error for SystemdVersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(name: &str, version: u16) -> Vec<&'static str> {
        group_members(name, SystemdVersion::new(version).unwrap()).unwrap()
    }

    #[test]
    fn groups_contain_the_members_of_groups() {
        let service = members("@system-service", 258);
        assert!(service.contains(&"io_setup") && service.contains(&"read"), "@aio and @basic-io");
        assert!(!service.contains(&"mount") && service.iter().all(|name| !name.starts_with('@')));
        // Known syscalls include obsolete ones, which the kernel's headers no longer have.
        assert!(members("@known", 258).contains(&"_sysctl"));
        assert_eq!(group_members("@no-such", SystemdVersion::LATEST), None);
        assert_eq!(group_members("swap", SystemdVersion::LATEST), None);
    }

    #[test]
    fn members_differ_between_versions() {
        assert!(
            members("@default", 257).contains(&"mseal")
                && !members("@default", 256).contains(&"mseal")
        );
        assert_eq!(group_members("@sandbox", SystemdVersion::new(253).unwrap()), None);
        for version in SystemdVersion::all() {
            let count = group_names(version).count();
            assert_eq!(count, if version.number() < 254 { 29 } else { 30 }, "{version}");
            assert!(group_names(version).all(|name| group_members(name, version).is_some()));
        }
    }

    #[test]
    fn the_nearest_group_is_one_of_the_version() {
        assert_eq!(
            nearest_group("@sytem-service", SystemdVersion::LATEST),
            Some("@system-service")
        );
        assert_eq!(nearest_group("@sandbx", SystemdVersion::new(252).unwrap()), None);
    }

    #[test]
    fn only_the_first_number_of_a_release_counts() {
        for text in ["257", "v257", "257.13", "v257.13", "257.13-1~deb13u1", "257~rc3", "257-rc1"] {
            assert_eq!(text.parse(), Ok(SystemdVersion(257)), "{text}");
        }
        for text in ["", "v", "251", "259", "257x", "-257", "65793", "2570", "é"] {
            assert!(text.parse::<SystemdVersion>().is_err(), "{text}");
        }
        assert_eq!(SystemdVersion::all().last(), Some(SystemdVersion::LATEST));
        assert!(SystemdVersion::all().all(|one| one.release().starts_with(&format!("v{one}."))));
        let error = "259".parse::<SystemdVersion>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown version of systemd \"259\"; the versions are 252, 253, 254, 255, 256, 257, 258"
        );
    }
}
