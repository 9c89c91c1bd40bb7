//! What policies, actions and comparisons mean.

use crate::lxc::support::{read, syscall};

#[test]
fn a_deny_list_allows_the_rest_and_kills_by_default() {
    let profile = read("2\ndenylist\nreboot\nkexec_load errno 1\nmount trap\nbpf notify\n");
    for (name, verdict) in [
        ("reboot", "KILL_THREAD"),
        ("kexec_load", "ERRNO(EPERM)"),
        ("mount", "TRAP"),
        ("bpf", "USER_NOTIF"),
        ("read", "ALLOW"),
    ] {
        assert_eq!(syscall(&profile, name, &[]), verdict, "{name}");
    }
}

#[test]
fn an_allow_list_kills_the_rest_and_allows_by_default() {
    let profile = read("2\nallowlist\nread\nwrite errno 5\n");
    assert_eq!(syscall(&profile, "read", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[]), "ERRNO(EIO)");
    assert_eq!(syscall(&profile, "close", &[]), "KILL_THREAD");
}

#[test]
fn an_action_after_the_policy_is_for_syscalls_without_a_rule() {
    for (policy, rest) in [
        ("allowlist errno 38", "ERRNO(ENOSYS)"),
        ("whitelist trap", "TRAP"),
        ("blacklist trap # comment", "TRAP"),
        ("denylist errno 0", "ERRNO(0)"),
    ] {
        let profile = read(&format!("2\n{policy}\nread errno 1\n"));
        assert_eq!(syscall(&profile, "close", &[]), rest, "{policy}");
        assert_eq!(syscall(&profile, "read", &[]), "ERRNO(EPERM)", "{policy}");
    }
}

/// LXC compares only the first letters of an action.
#[test]
fn actions_are_prefixes() {
    let profile = read("2\ndenylist\nread killall\nwrite errno5\nclose trapped # comment\n");
    assert_eq!(syscall(&profile, "read", &[]), "KILL_THREAD");
    assert_eq!(syscall(&profile, "write", &[]), "ERRNO(EIO)");
    assert_eq!(syscall(&profile, "close", &[]), "TRAP");
}

#[test]
fn the_errno_keeps_16_bits() {
    let profile = read("2\ndenylist\nread errno 65537\n");
    assert_eq!(syscall(&profile, "read", &[]), "ERRNO(EPERM)");
}

#[test]
fn every_operator_compares_unsigned() {
    for (operator, holds) in [
        ("==", [false, true, false]),
        ("SCMP_CMP_EQ", [false, true, false]),
        ("!=", [true, false, true]),
        ("SCMP_CMP_NE", [true, false, true]),
        ("<", [true, false, false]),
        ("SCMP_CMP_LT", [true, false, false]),
        ("<=", [true, true, false]),
        ("SCMP_CMP_LE", [true, true, false]),
        (">=", [false, true, true]),
        ("SCMP_CMP_GE", [false, true, true]),
        (">", [false, false, true]),
        ("SCMP_CMP_GT", [false, false, true]),
    ] {
        let profile = read(&format!("2\ndenylist\nread errno 1 [2,7,{operator}]\n"));
        let values = [6, 7, u64::MAX];
        let denied = values.map(|value| syscall(&profile, "read", &[0, 0, value]) != "ALLOW");
        assert_eq!(denied, holds, "{operator}");
    }
}

#[test]
fn a_mask_selects_the_bits_that_are_compared() {
    for operator in ["&=", "SCMP_CMP_MASKED_EQ"] {
        let profile = read(&format!("2\ndenylist\nclone errno 1 [0,0x10,{operator},0x30]\n"));
        let denied = |flags| syscall(&profile, "clone", &[flags]) == "ERRNO(EPERM)";
        assert_eq!([0, 0x10, 0x30, 0xff10].map(denied), [false, true, false, true]);
    }
}

#[test]
fn several_comparisons_must_all_hold() {
    let profile =
        read("2\ndenylist\nread errno 1 [0,1,==][1,2,==]\nwrite errno 1 [0,1,==] [1,010,==]\n");
    assert_eq!(syscall(&profile, "read", &[1, 2]), "ERRNO(EPERM)");
    assert_eq!(syscall(&profile, "read", &[1, 3]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[1, 8]), "ERRNO(EPERM)");
}

#[test]
fn rules_of_one_syscall_are_a_union() {
    let profile = read("2\ndenylist\nread errno 1 [0,1,==]\nread errno 2 [0,2,==]\n");
    assert_eq!(syscall(&profile, "read", &[1]), "ERRNO(EPERM)");
    assert_eq!(syscall(&profile, "read", &[2]), "ERRNO(ENOENT)");
    assert_eq!(syscall(&profile, "read", &[3]), "ALLOW");
}

#[test]
fn forced_umounts_are_rejected() {
    let profile = read("2\ndenylist\nreject_force_umount # comment\n");
    assert_eq!(syscall(&profile, "umount2", &[0, 1]), "ERRNO(EACCES)");
    assert_eq!(syscall(&profile, "umount2", &[0, 3]), "ERRNO(EACCES)");
    assert_eq!(syscall(&profile, "umount2", &[0, 2]), "ALLOW");
}

#[test]
fn line_breaks_of_windows_only_matter_after_names_and_sections() {
    let profile = read("2\r\ndenylist\r\nread errno 1\r\n");
    assert_eq!(syscall(&profile, "read", &[]), "ERRNO(EPERM)");
}
