//! Syscalls that belong together, are dangerous, or are missing.

use callgate::Arch;
use callgate::lint::{Check, Subject, lint};
use callgate_formats::oci::Dialect;
use callgate_formats::{CapSet, oci};

use super::{entry, found, found_on, only, options, profile};

/// What every program needs.
fn needed() -> String {
    entry(&["rt_sigreturn", "restart_syscall", "exit", "exit_group", "sigreturn"], "ALLOW", &[])
}

#[test]
fn syscalls_with_the_same_effect_are_denied_together() {
    let deny = entry(&["mount"], "ERRNO", &[]);
    let finding = only(found("ALLOW", &[&deny], Check::SameEffect), 2);
    assert_eq!(finding.syscalls, ["mount", "move_mount"]);
    let both = entry(&["mount", "move_mount"], "ERRNO", &[]);
    assert_eq!(found("ALLOW", &[&both], Check::SameEffect), []);
    // It needs a mount that is not attached yet.
    let others = entry(&["mount", "fsmount", "open_tree"], "ERRNO", &[]);
    assert_eq!(found("ALLOW", &[&others], Check::SameEffect), []);
    // An allowlist without a syscall says nothing about it.
    let open = entry(&["openat"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&open], Check::SameEffect), []);
    // Flags of clone3 are in memory.
    let clone = entry(&["clone"], "ALLOW", &[(0, "MASKED_EQ", 0x1000_0000, 0)]);
    let clone3 = entry(&["clone3"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&clone, &clone3], Check::SameEffect), 2);
    assert_eq!(finding.syscalls, ["clone", "clone3"]);
    assert!(finding.help.contains("ENOSYS"));
    assert_eq!(found("ERRNO", &[&clone], Check::SameEffect), []);
}

#[test]
fn rings_and_powerful_syscalls() {
    let ring = entry(&["io_uring_setup", "io_uring_enter"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&ring], Check::IoUring), 2);
    assert!(finding.syscalls.contains(&"openat"));
    // A ring can work without io_uring_enter, but not without io_uring_setup.
    let half = entry(&["io_uring_enter"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&half], Check::IoUring), []);
    let polled = entry(&["io_uring_setup"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&polled], Check::IoUring).len(), 1);

    let ptrace = entry(&["ptrace"], "ALLOW", &[]);
    assert_eq!(only(found("ERRNO", &[&ptrace], Check::PowerfulCall), 2).syscalls, ["ptrace"]);
    let traceme = entry(&["ptrace"], "ALLOW", &[(0, "EQ", 0, 0)]);
    assert_eq!(found("ERRNO", &[&traceme], Check::PowerfulCall), []);
}

#[test]
fn siblings_of_syscalls_are_allowed() {
    let old = entry(&["fcntl64", "open", "send"], "ALLOW", &[]);
    let names = |arch: Arch| -> Vec<_> {
        let found = found_on(&[arch], "ERRNO", &[&old], Check::MissingSibling);
        found.iter().map(|finding| finding.syscalls.clone()).collect()
    };
    assert_eq!(names(Arch::X86_64), [["fcntl64", "fcntl"], ["send", "sendto"]]);
    let both = entry(&["fcntl64", "fcntl"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&both], Check::MissingSibling), []);
    let arm = names(Arch::Aarch64);
    assert_eq!(arm, [["fcntl64", "fcntl"], ["open", "openat"], ["send", "sendto"]]);
    // x86 has `send` behind `socketcall`.
    assert_eq!(names(Arch::X86), Vec::<Vec<&str>>::new());
}

#[test]
fn fallbacks_need_enosys() {
    let clone = entry(&["clone"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&clone], Check::ErrnoNotEnosys), 2);
    assert_eq!(finding.syscalls, ["clone3", "clone"]);
    let enosys = "{\"names\": [\"clone3\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 38}";
    assert_eq!(found("ERRNO", &[&clone, enosys], Check::ErrnoNotEnosys), []);
    assert_eq!(found("KILL", &[&clone], Check::ErrnoNotEnosys), []);
    let neither = entry(&["read"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&neither], Check::ErrnoNotEnosys), []);
}

#[test]
fn every_program_needs_some_syscalls() {
    let read = entry(&["read"], "ALLOW", &[]);
    let names: Vec<_> =
        found("ERRNO", &[&read], Check::NeededCall).iter().map(|one| one.syscalls[0]).collect();
    assert_eq!(names, ["rt_sigreturn", "restart_syscall", "exit_group", "exit"]);
    assert_eq!(found("ERRNO", &[&read, &needed()], Check::NeededCall), []);
    // On x86, how a handler was installed decides by which of the two it returns.
    let one = entry(&["rt_sigreturn", "restart_syscall", "exit", "exit_group"], "ALLOW", &[]);
    let x86 = found_on(&[Arch::X86], "ERRNO", &[&one], Check::NeededCall);
    assert_eq!(x86.iter().map(|one| one.syscalls[0]).collect::<Vec<_>>(), ["sigreturn"]);
    assert_eq!(found_on(&[Arch::X86], "ERRNO", &[&needed()], Check::NeededCall), []);
    // ppc64 has the number, but not the frame.
    assert_eq!(found_on(&[Arch::Ppc64], "ERRNO", &[&one], Check::NeededCall), []);
}

#[test]
fn capabilities_fit_the_syscalls() {
    let gated = |caps: &str, name: &str| {
        format!(
            "{{\"names\": [\"{name}\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {{\"caps\": [\"{caps}\"]}}}}"
        )
    };
    let wrong = gated("CAP_SYS_ADMIN", "reboot");
    assert_eq!(only(found("ERRNO", &[&wrong], Check::Capability), 2).syscalls, ["reboot"]);
    for right in [gated("CAP_SYS_BOOT", "reboot"), gated("CAP_SYS_ADMIN", "syslog")] {
        assert_eq!(found("ERRNO", &[&right], Check::Capability), []);
    }
    // A rule that this container does not get is checked as well.
    let mut options = options(&[Arch::X86_64], Dialect::Docker);
    options.caps = CapSet::none();
    let profile = oci::read(&profile("ERRNO", &[&wrong]), &options).unwrap();
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    assert!(all.iter().any(|finding| finding.check == Check::Capability));
}

#[test]
fn numbers_of_newer_kernels() {
    let text = profile("ERRNO", &[&entry(&["read", "openat"], "ALLOW", &[])]);
    let of = |dialect| {
        let profile = oci::read(&text, &options(&[Arch::X86_64], dialect)).unwrap();
        let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
        all.into_iter().filter(|finding| finding.check == Check::UnknownNumbers).count()
    };
    // runc lets them fail with ENOSYS.
    assert_eq!((of(Dialect::Docker), of(Dialect::Crun)), (0, 1));
    assert_eq!(found("ALLOW", &[&entry(&["mount"], "ERRNO", &[])], Check::UnknownNumbers).len(), 1);
}
