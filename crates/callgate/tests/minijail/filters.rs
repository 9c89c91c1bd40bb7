//! Filters: actions, conditions, statements for several syscalls, architectures.

use callgate::{Arch, Verdict};
use callgate_testing::reader::numbered;

use crate::minijail::support::{on, read, read_for, syscall};

#[test]
fn every_action_has_its_verdict() {
    for (action, expected) in [
        ("1", Verdict::ALLOW),
        ("0x1", Verdict::ALLOW),
        ("allow", Verdict::ALLOW),
        ("kill", Verdict::KILL_THREAD),
        ("kill-thread", Verdict::KILL_THREAD),
        ("kill-process", Verdict::KILL_PROCESS),
        ("trap", Verdict::trap(0)),
        ("trace", Verdict::trace(0)),
        ("log", Verdict::LOG),
        ("user-notify", Verdict::user_notif(0)),
        ("return EPERM", Verdict::errno(1)),
        ("return 38", Verdict::errno(38)),
        ("return 0", Verdict::errno(0)),
    ] {
        let policy = read(&format!("@default kill-process\nread: {action}"));
        assert_eq!(syscall(&policy, "read", &[]), expected.to_string(), "{action}");
        assert_eq!(syscall(&policy, "write", &[]), "KILL_PROCESS");
    }
}

#[test]
fn the_default_action_is_for_what_no_filter_matches() {
    for (default, expected) in [
        ("", "KILL_THREAD"),
        ("@default kill\n", "KILL_THREAD"),
        ("@default kill-thread\n", "KILL_THREAD"),
        ("@default kill-process\n", "KILL_PROCESS"),
        ("@default trap\n", "TRAP"),
        ("@default user-notify\n", "USER_NOTIF"),
    ] {
        let policy = read(&format!("{default}read: arg0 == 1"));
        assert_eq!(syscall(&policy, "read", &[1]), "ALLOW");
        assert_eq!(syscall(&policy, "read", &[2]), expected);
        assert_eq!(syscall(&policy, "write", &[1]), expected);
    }
    // Also for statements before it.
    assert_eq!(syscall(&read("read: arg0 == 1\n@default trap"), "read", &[2]), "TRAP");
}

#[test]
fn conjunctions_bind_more_tightly_than_disjunctions() {
    let policy = read("fcntl: arg0 == 1 && arg1 == 2 || arg2 == 3 && arg0 != 4");
    for (args, expected) in [
        ([1, 2, 0], "ALLOW"),
        ([1, 3, 0], "KILL_THREAD"),
        ([0, 0, 3], "ALLOW"),
        ([4, 0, 3], "KILL_THREAD"),
        ([4, 2, 3], "KILL_THREAD"),
    ] {
        assert_eq!(syscall(&policy, "fcntl", &args), expected, "{args:?}");
    }
}

#[test]
fn the_first_filter_that_matches_decides() {
    let policy = read(
        "ioctl: {arg0 == 1; return 5, arg0 <= 2; trap, \\\n  arg0 == 3, log}\n\
         read: arg0 == 1; return 7\nread: arg0 < 3\nread: return 9",
    );
    for (name, arg, expected) in [
        ("ioctl", 1, "ERRNO(EIO)"),
        ("ioctl", 2, "TRAP"),
        ("ioctl", 3, "ALLOW"),
        ("ioctl", 4, "LOG"),
        ("read", 1, "ERRNO(E2BIG)"),
        ("read", 2, "ALLOW"),
        ("read", 3, "ERRNO(EBADF)"),
    ] {
        assert_eq!(syscall(&policy, name, &[arg]), expected, "{name} {arg}");
    }
}

#[test]
fn a_statement_can_name_several_syscalls() {
    let policy = read("{read, write}: arg0 == 1\nread: return 1\n{ close }: 1\nkill: 1");
    assert_eq!(syscall(&policy, "read", &[1]), "ALLOW");
    assert_eq!(syscall(&policy, "read", &[2]), "ERRNO(EPERM)");
    assert_eq!(syscall(&policy, "write", &[1]), "ALLOW");
    assert_eq!(syscall(&policy, "write", &[2]), "KILL_THREAD");
    assert_eq!(syscall(&policy, "close", &[]), "ALLOW");
    assert_eq!(syscall(&policy, "kill", &[]), "ALLOW");
}

#[test]
fn a_syscall_may_be_for_some_architectures_only() {
    let text = "{read, open[arch=x86_64,x86], osf_no_such[arch=mips]}: 1\nmkdir[arch=arm64; arch2=x]: 1\n\
                mkdir[arch=x86_64]: log";
    let policy = read(text);
    assert_eq!(syscall(&policy, "open", &[]), "ALLOW");
    assert_eq!(syscall(&policy, "mkdir", &[]), "LOG");
    let policy = read_for("{read, open[arch=x86_64,x86]}: 1", Arch::Aarch64);
    assert_eq!(on(&policy, Arch::Aarch64, "read", &[]), "ALLOW");
}

#[test]
fn other_architectures_are_killed_and_x32_numbers_get_the_default() {
    let policy = read("@default trap\nread: 1");
    let verdict = |arch: Arch, nr: u32| policy.evaluate(&numbered(arch, nr, &[]));
    assert_eq!(verdict(Arch::X86_64, 0), Verdict::ALLOW);
    assert_eq!(verdict(Arch::X86_64, 0x4000_0000), Verdict::trap(0));
    assert_eq!(verdict(Arch::X86, 3), Verdict::KILL_THREAD);
}

#[test]
fn arguments_have_32_bits_on_32_bit_architectures() {
    let high = 1 << 32;
    let policy = read_for("read: arg0 == 0xffffffff || arg1 in 3", Arch::Arm);
    assert_eq!(on(&policy, Arch::Arm, "read", &[high | 0xffff_ffff, 8]), "ALLOW");
    assert_eq!(on(&policy, Arch::Arm, "read", &[0, high | 1]), "ALLOW");
    let wide = read("read: arg0 == 0xffffffff || arg1 in 3");
    assert_eq!(syscall(&wide, "read", &[high | 0xffff_ffff, 8]), "KILL_THREAD");
    assert_eq!(syscall(&wide, "read", &[0, high | 1]), "KILL_THREAD");
}

/// minijail takes the names of these from the kernel's headers.
#[test]
fn syscalls_of_arm_have_a_prefix() {
    let policy = read_for("ARM_cacheflush: 1", Arch::Arm);
    let nr = 0x000f_0002;
    let data = numbered(Arch::Arm, nr, &[]);
    assert_eq!(policy.evaluate(&data), Verdict::ALLOW);
}
