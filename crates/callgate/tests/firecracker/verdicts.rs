//! Actions, architectures, and the two names of an action.

use callgate::{Arch, Verdict};
use callgate_formats::firecracker::{self, ReadOptions};
use callgate_testing::reader::numbered;

use crate::firecracker::support::{errors_for, filter, lines, read, syscall};

#[test]
fn every_action_has_its_verdict() {
    for (action, expected) in [
        (r#""allow""#, Verdict::ALLOW),
        (r#""log""#, Verdict::LOG),
        (r#""kill_thread""#, Verdict::KILL_THREAD),
        (r#""kill_process""#, Verdict::KILL_PROCESS),
        (r#""user_notif""#, Verdict::user_notif(0)),
        (r#"{"errno": 38}"#, Verdict::errno(38)),
        (r#"{"trace": 65535}"#, Verdict::trace(65535)),
        (r#"{"log": null}"#, Verdict::LOG),
    ] {
        let text = format!(
            r#"{{"t": {{"mismatch_action": "trap", "match_action": {action}, "filter": [{{"syscall": "read"}}]}}}}"#
        );
        let profile = read(&text);
        assert_eq!(syscall(&profile, "read", &[]), expected.to_string(), "{action}");
        assert_eq!(syscall(&profile, "write", &[]), "TRAP");
        assert!(profile.warnings.is_empty(), "{}", lines(&profile.warnings));
    }
}

#[test]
fn old_names_of_the_actions_mean_the_same() {
    let old = read(
        r#"{"t": {"default_action": {"errno": 1}, "filter_action": "log", "filter": [{"syscall": "read"}]}}"#,
    );
    let new = read(
        r#"{"t": {"mismatch_action": {"errno": 1}, "match_action": "log", "filter": [{"syscall": "read"}]}}"#,
    );
    assert_eq!(old.policy, new.policy);
}

#[test]
fn numbers_beyond_what_the_kernel_takes_are_warnings() {
    for (action, expected, warning) in [
        (
            r#"{"errno": 4096}"#,
            Verdict::errno(4096),
            "1:27: errno 4096 is more than 4095, so the kernel returns 4095 (use a number up to 4095)",
        ),
        (
            r#"{"errno": 65537}"#,
            Verdict::errno(1),
            "1:27: `errno` is 65537; seccompiler keeps the low 16 bits, 1 (use a number up to 65535)",
        ),
        (
            r#"{"trace": 65536}"#,
            Verdict::trace(0),
            "1:27: `trace` is 65536; seccompiler keeps the low 16 bits, 0 (use a number up to 65535)",
        ),
    ] {
        let profile = read(&format!(
            r#"{{"t": {{"mismatch_action": {action}, "match_action": "log", "filter": [{{"syscall": "read"}}]}}}}"#
        ));
        assert_eq!(syscall(&profile, "write", &[]), expected.to_string());
        assert_eq!(lines(&profile.warnings), warning);
    }
}

#[test]
fn x32_mismatches_and_other_architectures_are_killed() {
    let profile = filter(r#"{"syscall": "read"}"#);
    let verdict = |arch: Arch, nr: u32| profile.policy.evaluate(&numbered(arch, nr, &[]));
    assert_eq!(verdict(Arch::X86_64, 0), Verdict::ALLOW);
    assert_eq!(verdict(Arch::X86_64, 0x4000_0000), Verdict::trap(0));
    assert_eq!(verdict(Arch::X86, 3), Verdict::KILL_PROCESS);
    assert_eq!(verdict(Arch::Aarch64, 63), Verdict::KILL_PROCESS);
}

#[test]
fn the_architectures_are_those_of_seccompiler() {
    let text = r#"{"t": {"mismatch_action": "trap", "match_action": "allow", "filter": [{"syscall": "read"}]}}"#;
    for (arch, nr) in [(Arch::Aarch64, 63), (Arch::Riscv64, 63)] {
        let profile = firecracker::read(text, &ReadOptions::new(arch)).unwrap();
        let data = numbered(arch, nr, &[]);
        assert_eq!(profile.policy.evaluate(&data), Verdict::ALLOW);
    }
    assert_eq!(
        errors_for(text, &ReadOptions::new(Arch::X86)),
        "seccompiler has no filters for x86 (give one of its architectures: x86_64, aarch64, riscv64)"
    );
}

#[test]
fn a_filter_without_entries_is_a_warning() {
    let profile = filter("");
    assert_eq!(syscall(&profile, "read", &[]), "TRAP");
    assert_eq!(
        lines(&profile.warnings),
        "1:9: the filter has no entries: every syscall gets `trap` (add entries to `filter`)"
    );
}
