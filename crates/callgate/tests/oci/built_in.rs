//! The default profiles of container engines, in all versions.

use callgate::Arch;
use callgate::compile::Options;
use callgate::source::{Messages, Reading, SourceContent, SourceStack, SourceText, read};
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::{BUILT_INS, CapSet};

use crate::oci::support::on;

const LINUX: KernelVersion = KernelVersion { major: 6, minor: 18 };

fn stack(name: &str, reading: Reading) -> SourceStack {
    let source = SourceText::new(SourceContent::Preset(name.to_owned()), reading);
    let mut warnings = Messages::new();
    let stack = read(&source, &mut warnings).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert!(warnings.is_empty(), "{name}: {}", warnings[0]);
    stack
}

/// All versions of all profiles, as sources.
fn versions() -> impl Iterator<Item = String> {
    BUILT_INS.iter().flat_map(|one| {
        let versions = one.versions();
        versions.into_iter().map(|version| format!("{}@{version}", one.name))
    })
}

/// The verdict of x86-64, or of another architecture, with Docker's default capabilities.
#[track_caller]
fn verdict_on(arch: Arch, source: &str, syscall: &str, args: &[u64]) -> String {
    let stack = stack(source, Reading { kernel: Some(LINUX), ..Reading::new(Arch::X86_64) });
    on(stack.filters[0].policy().unwrap(), arch, syscall, args)
}

#[track_caller]
fn verdict(source: &str, syscall: &str, args: &[u64]) -> String {
    verdict_on(Arch::X86_64, source, syscall, args)
}

#[test]
fn every_version_is_read_for_every_machine() {
    for source in versions() {
        for arch in Arch::ALL {
            for caps in [CapSet::none(), CapSet::all()] {
                let reading =
                    Reading { kernel: Some(LINUX), caps: Some(caps), ..Reading::new(*arch) };
                let stack = stack(&source, Reading { strict: true, ..reading });
                let policy = stack.filters[0].policy().unwrap();
                assert_eq!(on(policy, *arch, "execve", &[]), "ALLOW", "{source} {arch}");
            }
        }
    }
}

#[test]
fn every_version_is_compiled_and_proved() {
    for source in versions() {
        let reading = Reading {
            kernel: Some(LINUX),
            arches: vec![Arch::X86_64],
            ..Reading::new(Arch::X86_64)
        };
        let compiled = stack(&source, reading).compile(&Options::default());
        let compiled = compiled.unwrap_or_else(|errors| panic!("{}", errors[0]));
        assert!((30..400).contains(&compiled.program.len()), "{source}");
    }
}

#[test]
fn io_uring_was_allowed_before_docker_25_and_containerd_2() {
    for (source, expected) in [
        ("docker-default@19.03", "ERRNO(ENOSYS)"),
        ("docker-default@20.10.0", "ALLOW"),
        ("docker-default@24.0.9", "ALLOW"),
        ("docker-default@25.0.0", "ERRNO(EPERM)"),
        ("docker-default@0.1.0", "ERRNO(EPERM)"),
        ("docker-default", "ERRNO(EPERM)"),
        ("containerd-default@1.7", "ALLOW"),
        ("containerd-default@2.0.0", "ERRNO(EPERM)"),
    ] {
        for syscall in ["io_uring_setup", "io_uring_enter", "io_uring_register"] {
            assert_eq!(verdict(source, syscall, &[]), expected, "{source} {syscall}");
        }
    }
}

#[test]
fn address_families_are_denied_as_in_each_version() {
    const ALG: u64 = 38;
    const VSOCK: u64 = 40;
    for (source, vsock, alg) in [
        ("docker-default@20.10.21", "ALLOW", "ALLOW"),
        ("docker-default@20.10.22", "ERRNO(EPERM)", "ALLOW"),
        ("docker-default@20.10.23", "ALLOW", "ALLOW"),
        ("docker-default@28", "ERRNO(EPERM)", "ALLOW"),
        ("docker-default@0.2.0", "ERRNO(EPERM)", "ALLOW"),
        ("docker-default@29.4.2", "ERRNO(EPERM)", "ERRNO(EPERM)"),
        ("containerd-default@1.7.31", "ERRNO(EPERM)", "ALLOW"),
        ("containerd-default@1.7.32", "ERRNO(EPERM)", "ERRNO(EPERM)"),
        ("containerd-default@2.1", "ERRNO(EPERM)", "ALLOW"),
        ("containerd-default", "ERRNO(EPERM)", "ERRNO(EPERM)"),
        ("podman-default@5.7.1", "ALLOW", "ALLOW"),
        ("podman-default@5.8.0", "ERRNO(EPERM)", "ALLOW"),
    ] {
        assert_eq!(verdict(source, "socket", &[VSOCK]), vsock, "{source}");
        assert_eq!(verdict(source, "socket", &[ALG]), alg, "{source}");
        assert_eq!(verdict(source, "socket", &[2]), "ALLOW", "{source}");
    }
    let socketcall = |source| verdict_on(Arch::X86, source, "socketcall", &[1]);
    assert_eq!(socketcall("docker-default@29.4.2"), "ERRNO(ENOSYS)");
    assert_eq!(socketcall("docker-default@29.4.3"), "ALLOW");
}

#[test]
fn clone3_does_not_exist_where_flags_are_compared() {
    for (source, expected) in [
        ("docker-default@20.10.10", "ERRNO(ENOSYS)"),
        ("docker-default", "ERRNO(ENOSYS)"),
        ("containerd-default@1.5.5", "ERRNO(EPERM)"),
        ("containerd-default@1.5.6", "ERRNO(ENOSYS)"),
        ("containerd-default", "ERRNO(ENOSYS)"),
        ("podman-default", "ALLOW"),
        ("crio-default@1.30.5", "ALLOW"),
        ("crio-default@1.30.6", "ERRNO(ENOSYS)"),
    ] {
        assert_eq!(verdict(source, "clone3", &[]), expected, "{source}");
    }
    const NEWUSER: u64 = 0x1000_0000;
    for (source, expected) in [
        ("docker-default", "ERRNO(EPERM)"),
        ("containerd-default", "ERRNO(EPERM)"),
        ("podman-default", "ALLOW"),
        ("crio-default", "ERRNO(EPERM)"),
    ] {
        assert_eq!(verdict(source, "clone", &[NEWUSER | 17]), expected, "{source}");
        assert_eq!(verdict(source, "clone", &[17]), "ALLOW", "{source}");
    }
}

#[test]
fn unlisted_syscalls_fail_as_the_engine_says() {
    for (source, expected) in [
        ("podman-default@3.2", "ERRNO(EPERM)"),
        ("podman-default@3.3", "ERRNO(ENOSYS)"),
        ("podman-default@0.40.1", "ERRNO(ENOSYS)"),
        ("crio-default", "ERRNO(ENOSYS)"),
        ("docker-default", "ERRNO(EPERM)"),
    ] {
        assert_eq!(verdict(source, "vserver", &[]), expected, "{source}");
    }
}
