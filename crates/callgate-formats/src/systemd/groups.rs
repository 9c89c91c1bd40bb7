//! Groups of syscalls such as `@system-service`.

use std::collections::BTreeSet;

use super::table::{GROUPS, Members};
use super::version::SystemdVersion;
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
}
