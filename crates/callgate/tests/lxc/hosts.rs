//! Architectures: those of the filter, and the sections that a host uses.

use callgate::Arch;

use crate::lxc::support::{on, read, read_for};

#[test]
fn the_filter_has_the_compat_architectures_of_the_host() {
    for (native, expected) in [
        (Arch::X86_64, &[Arch::X86_64, Arch::X32, Arch::X86][..]),
        (Arch::X32, &[Arch::X86_64, Arch::X32, Arch::X86]),
        (Arch::X86, &[Arch::X86]),
        (Arch::Aarch64, &[Arch::Aarch64, Arch::Arm]),
        (Arch::Arm, &[Arch::Arm]),
        (Arch::Ppc64, &[Arch::Ppc64, Arch::Ppc]),
        (Arch::Ppc64le, &[Arch::Ppc64le]),
        (Arch::Mips64, &[Arch::Mips64, Arch::Mips, Arch::Mips64n32]),
        (Arch::Mipsel64, &[Arch::Mipsel64, Arch::Mipsel, Arch::Mipsel64n32]),
        (Arch::S390x, &[Arch::S390x]),
        (Arch::Loongarch64, &[Arch::Loongarch64]),
    ] {
        let profile = read_for("2\ndenylist\nread errno 1\n", native);
        let mut arches: Vec<Arch> = profile.policy.arches().collect();
        arches.sort_by_key(|arch| expected.iter().position(|one| one == arch));
        assert_eq!(arches, expected, "{native}");
        for arch in arches {
            assert_eq!(on(&profile, arch, "read", &[]), "ERRNO(EPERM)", "{native} {arch}");
        }
    }
}

#[test]
fn syscalls_of_other_architectures_kill_the_thread() {
    let profile = read_for("2\ndenylist\nread errno 1\n", Arch::Aarch64);
    assert_eq!(on(&profile, Arch::X86_64, "close", &[]), "KILL_THREAD");
}

/// Sections only select whether the host uses their rules.
#[test]
fn rules_of_a_section_apply_to_all_architectures() {
    let profile =
        read("2\ndenylist\n[x86]\nread errno 1\n[arm64]\nwrite errno 1\n[ALL]\nclose errno 1\n");
    for arch in [Arch::X86_64, Arch::X86, Arch::X32] {
        assert_eq!(on(&profile, arch, "read", &[]), "ERRNO(EPERM)");
        assert_eq!(on(&profile, arch, "write", &[]), "ALLOW");
        assert_eq!(on(&profile, arch, "close", &[]), "ERRNO(EPERM)");
    }
}

#[test]
fn a_syscall_may_exist_only_on_a_compat_architecture() {
    let profile = read("2\ndenylist\nwaitpid errno 1\n");
    assert_eq!(on(&profile, Arch::X86, "waitpid", &[]), "ERRNO(EPERM)");
}

/// libseccomp gives such a syscall a pseudo number, which LXC takes for a missing one.
#[test]
fn syscalls_behind_a_multiplexer_get_no_rule() {
    let profile = read("2\ndenylist\nsocket errno 1\nshmget errno 1\nsocketcall errno 2\n");
    assert_eq!(on(&profile, Arch::X86_64, "socket", &[]), "ERRNO(EPERM)");
    assert_eq!(on(&profile, Arch::X86_64, "shmget", &[]), "ERRNO(EPERM)");
    assert_eq!(on(&profile, Arch::X86, "socket", &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86, "shmget", &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86, "socketcall", &[]), "ERRNO(ENOENT)");
    let native = read_for("2\ndenylist\nsocket errno 1\nread errno 1", Arch::S390x);
    assert_eq!(on(&native, Arch::S390x, "socket", &[]), "ALLOW");
}

#[test]
fn an_architecture_with_32_bits_compares_the_low_halves() {
    let profile = read("2\ndenylist\nread errno 1 [0,0x100000001,==]\n");
    assert_eq!(on(&profile, Arch::X86_64, "read", &[1]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86, "read", &[1]), "ERRNO(EPERM)");
}

#[test]
fn a_host_that_lxc_does_not_know_only_uses_the_section_all() {
    let profile = read_for("2\ndenylist\nread errno 1\n[all]\nwrite errno 1\n", Arch::Riscv64);
    assert_eq!(on(&profile, Arch::Riscv64, "read", &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::Riscv64, "write", &[]), "ERRNO(EPERM)");
    assert_eq!(
        profile.warnings[0].message,
        "LXC does not know the host architecture riscv64, and skips rules outside of [all]"
    );
}
