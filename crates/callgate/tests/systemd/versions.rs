//! What differs between versions of systemd.

use callgate::Verdict;
use callgate_bpf::syscalls::is_known_name;
use callgate_formats::systemd::{SystemdVersion, group_members, group_names};

use crate::systemd::support::{ENOSYS, EPERM, messages_with, options, read_with, verdict, version};

#[test]
fn unknown_syscalls_fail_with_enosys_from_255_on() {
    for number in 252..=258 {
        let unit = read_with("SystemCallFilter=mount", &version(number));
        let mut data = crate::systemd::support::call(callgate::Arch::X86_64, "read", &[]);
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
fn time_namespaces_are_retained_from_258_on() {
    for (value, number, expected) in [
        ("~user", 257, EPERM),
        ("~user", 258, Verdict::ALLOW),
        ("~time", 257, EPERM),
        ("~time", 258, EPERM),
        ("user time", 257, Verdict::ALLOW),
    ] {
        let unit = read_with(&format!("RestrictNamespaces={value}"), &version(number));
        let installed = !unit.filters.is_empty();
        // Before, all other namespaces are retained, so that systemd takes it for no restriction.
        assert_eq!(installed, (value, number) != ("~time", 257), "{value} {number}");
        if installed {
            assert_eq!(verdict(&unit, "unshare", &[0x80]), expected, "{value} {number}");
        }
    }
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

/// A version that was not given is assumed; where an older one decides otherwise, a warning says so.
#[test]
fn an_assumed_version_that_matters_is_named() {
    for (directives, matters) in [
        ("SystemCallFilter=@system-service", true),
        ("SystemCallFilter=~@mount", true),
        ("SystemCallFilter=~ptrace", false),
        ("RestrictRealtime=yes", false),
    ] {
        let mut options = options();
        assert_eq!(read_with(directives, &options).warnings, []);
        options.is_version_assumed = true;
        let unit = read_with(directives, &options);
        let found: Vec<&str> =
            unit.warnings.iter().map(|one| one.diagnostic.message.as_str()).collect();
        let expected =
            "systemd 252 reads this unit in another way than systemd 258, which is assumed";
        let expected = if matters { vec![expected] } else { vec![] };
        assert_eq!(found, expected, "{directives}");
    }
}
