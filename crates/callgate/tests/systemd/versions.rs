//! What differs between versions of systemd.

use callgate::Verdict;
use callgate::formats::systemd::{SystemdVersion, group_members, group_names};
use callgate::syscalls::is_known_name;

use crate::support::{ENOSYS, messages_with, read_with, verdict, version};

#[test]
fn unknown_syscalls_fail_with_enosys_from_255_on() {
    for number in 252..=258 {
        let unit = read_with("SystemCallFilter=mount", &version(number));
        let mut data = crate::support::call(callgate::Arch::X86_64, "read", &[]);
        assert_eq!(unit.evaluate(&data), Verdict::KILL_PROCESS, "{number}");
        data.nr = 900;
        let expected = if number < 255 { Verdict::KILL_PROCESS } else { ENOSYS };
        assert_eq!(unit.evaluate(&data), expected, "{number}");
    }
}

#[test]
fn groups_are_those_of_the_version() {
    let of = |number| {
        verdict(&read_with("SystemCallFilter=@file-system", &version(number)), "statmount", &[])
    };
    assert_ne!(of(256), Verdict::ALLOW);
    assert_eq!(of(257), Verdict::ALLOW);
    assert_eq!(
        messages_with("SystemCallFilter=~@sandbox", &version(253)),
        [
            "1:19: unknown group \"@sandbox\" in systemd 253; systemd ignores it; systemd 254 and later have it"
        ]
    );
}

#[test]
fn the_members_of_groups_are_syscalls() {
    // Names that no kernel ever had: two misspellings, and entries of tables of architectures.
    for version in SystemdVersion::all() {
        let mut unknown: Vec<&str> = group_names(version)
            .flat_map(|name| group_members(name, version).unwrap())
            .filter(|name| !is_known_name(name))
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        let count = group_members("@known", version).unwrap().len();
        assert!(unknown.len() * 20 < count, "{version}: {unknown:?}");
    }
}
