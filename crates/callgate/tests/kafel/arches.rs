//! Architectures: names of syscalls, guards, several architectures at once.

use callgate::Arch;
use callgate_bpf::SyscallTable;

use crate::kafel::support::{errors_for, lines, on, read_for};

#[test]
fn names_are_those_of_the_kernel_functions() {
    let profile =
        read_for("ALLOW { newuname, getuid, umount } DEFAULT KILL", &[Arch::X86_64, Arch::X86]);
    for (arch, nr, verdict) in [
        (Arch::X86_64, 63, "ALLOW"),
        (Arch::X86_64, 102, "ALLOW"),
        (Arch::X86_64, 166, "ALLOW"),
        (Arch::X86, 122, "ALLOW"),
        (Arch::X86, 199, "ALLOW"),
        (Arch::X86, 24, "KILL_THREAD"),
        (Arch::X86, 52, "ALLOW"),
        (Arch::X86, 22, "KILL_THREAD"),
    ] {
        assert_eq!(on(&profile, arch, nr, &[]), verdict, "{arch} {nr}");
    }
    let old = read_for("ALLOW { uname } DEFAULT KILL", &[Arch::X86]);
    assert_eq!(on(&old, Arch::X86, 109, &[]), "ALLOW");
    assert_eq!(
        lines(&old.warnings),
        "1:9: on x86, Kafel's `uname` is the old syscall olduname (write SYSCALL[122] for uname(2) of today)"
    );
}

#[test]
fn guards_restrict_rules_to_architectures() {
    let text = "ALLOW { read, open ON x86_64, arm_fadvise64_64 ON { ARM, armel64 } } DEFAULT KILL";
    assert!(errors_for(text, &[Arch::X86_64]).starts_with("1:58: unknown architecture `armel64`"));
    let text = "ALLOW { read, open ON x86_64, openat ON { arm64, amd64 } } DEFAULT KILL";
    let profile = read_for(text, &[Arch::X86_64, Arch::Aarch64]);
    assert_eq!(on(&profile, Arch::X86_64, 2, &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::Aarch64, 2, &[]), "KILL_THREAD");
    assert_eq!(on(&profile, Arch::Aarch64, 56, &[]), "ALLOW");
    assert_eq!(
        errors_for("ALLOW { open } DEFAULT KILL", &[Arch::X86_64, Arch::Aarch64]),
        "1:9: aarch64 has no syscall `open` (restrict the rule: `open ON x86_64`; the syscall exists on \
         x86_64, x86, x32, arm, s390x, s390, ppc64le, ppc64, ppc, mips, mipsel, mips64, mipsel64, mips64n32, \
         mipsel64n32, m68k, parisc, parisc64, sh, sheb)"
    );
}

#[test]
fn x32_shares_the_section_of_x86_64() {
    let profile = read_for("ALLOW { read { fd == 1 } } DEFAULT KILL", &[Arch::X86_64, Arch::X32]);
    assert_eq!(profile.policy.sections().len(), 1);
    assert_eq!(on(&profile, Arch::X32, 0x4000_0000, &[1]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86_64, 0, &[1]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86_64, 0, &[2]), "KILL_THREAD");
}

/// Constants differ between architectures.
#[test]
fn constants_are_those_of_the_architecture() {
    let text = "ALLOW { ioctl { cmd == TIOCSTI }, socket { type == SOCK_STREAM } } DEFAULT KILL";
    let profile = read_for(text, &[Arch::Mips64]);
    let number = |name| Arch::Mips64.number(name).unwrap();
    assert_eq!(on(&profile, Arch::Mips64, number("ioctl"), &[0, 0x5472]), "ALLOW");
    assert_eq!(on(&profile, Arch::Mips64, number("ioctl"), &[0, 0x5412]), "KILL_THREAD");
    assert_eq!(on(&profile, Arch::Mips64, number("socket"), &[0, 2]), "ALLOW");
    assert_eq!(
        errors_for("ALLOW { prctl { option == ARCH_SET_FS } }", &[Arch::Aarch64]),
        "1:27: the constant `ARCH_SET_FS` does not exist on aarch64 (give a number, or restrict the rule with ON)"
    );
}

#[test]
fn byte_orders_cannot_be_mixed() {
    let message = errors_for("ALLOW { read } DEFAULT KILL", &[Arch::X86_64, Arch::S390x]);
    assert!(message.contains("byte order"), "{message}");
}

#[test]
fn arguments_without_a_known_place_are_refused() {
    let message = errors_for("ALLOW { clone { tls == 0 } }", &[Arch::Aarch64]);
    assert!(message.contains("depends on the architecture"), "{message}");
    assert!(message.ends_with("(name the arguments yourself: clone(a, b, c))"), "{message}");
    let profile = read_for("ALLOW { clone(f, s, p, t) { t == 1 } } DEFAULT KILL", &[Arch::Aarch64]);
    assert_eq!(on(&profile, Arch::Aarch64, 220, &[0, 0, 0, 1]), "ALLOW");
}
