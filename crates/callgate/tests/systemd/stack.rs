//! Which filters are installed, in which order, and their meaning together.

use callgate::{Arch, Description, SeccompData, Verdict, stack};
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::systemd::{Directive, ReadOptions};
use callgate_testing::reader::numbered;

use crate::systemd::support::{EPERM, call, options, read, read_with, verdict};

/// Every directive, in an order other than that of installation.
const ALL: &str = "
SystemCallFilter=@system-service
SystemCallFilter=~@chown:EACCES
SystemCallErrorNumber=EPERM
SystemCallLog=@mount
LockPersonality=yes
SystemCallArchitectures=native x86
PrivateDevices=yes
ProtectClock=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX
ProtectHostname=yes
";

#[test]
fn filters_are_in_the_order_of_installation() {
    let unit = read(ALL);
    let mut directives: Vec<Directive> =
        unit.filters.iter().map(|filter| filter.directive).collect();
    directives.dedup();
    assert_eq!(directives, Directive::ALL);
    // Two on two architectures, three after x32 was excluded, the others on three, and one for all architectures.
    assert_eq!(unit.filters.len(), 2 * 2 + 3 * 2 + 9 * 3 + 1);
    assert_eq!(unit.filters.last().and_then(|filter| filter.arch), Some(Arch::X86_64));
}

#[test]
fn excluded_architectures_get_no_later_filters() {
    let unit = read(
        "SystemCallArchitectures=native\nSystemCallFilter=@system-service\nProtectKernelLogs=yes",
    );
    let arches: Vec<Option<Arch>> = unit.filters.iter().map(|filter| filter.arch).collect();
    assert_eq!(
        arches,
        [Some(Arch::X86), Some(Arch::X32), Some(Arch::X86_64), None, Some(Arch::X86_64)]
    );
    for arch in [Arch::X86, Arch::X32] {
        assert_eq!(unit.evaluate(&call(arch, "read", &[])), Verdict::KILL_THREAD, "{arch}");
    }
    let foreign = SeccompData { arch: Arch::Aarch64.token(), ..SeccompData::default() };
    assert_eq!(unit.evaluate(&foreign), Verdict::KILL_THREAD);
    assert_eq!(verdict(&unit, "read", &[]), Verdict::ALLOW);
    // The number that a tracer sets to skip a syscall is of no architecture.
    let skipped = numbered(Arch::X86_64, u32::MAX, &[]);
    assert_eq!(read("SystemCallArchitectures=native").evaluate(&skipped), Verdict::ALLOW);
}

#[test]
fn the_native_architecture_is_never_excluded() {
    let unit = read("SystemCallArchitectures=x86");
    assert_eq!(verdict(&unit, "read", &[]), Verdict::ALLOW);
    assert_eq!(unit.evaluate(&call(Arch::X86, "read", &[])), Verdict::ALLOW);
    assert_eq!(unit.evaluate(&call(Arch::X32, "read", &[])), Verdict::KILL_THREAD);
    assert!(read("SystemCallArchitectures=x86 x32").filters.is_empty(), "all are allowed");
    assert!(read("SystemCallArchitectures=native\nSystemCallArchitectures=").filters.is_empty());
}

#[test]
fn a_stack_merges_into_one_program() {
    let unit = read(ALL);
    let parts: Vec<Description<'_>> =
        unit.filters.iter().map(|filter| Description::policy(&filter.policy)).collect();
    let stack = stack::Stack::new(parts).unwrap();
    let merged = callgate::merge(&stack, &[Arch::X86_64], &callgate::Options::default()).unwrap();
    for (name, args) in [
        ("read", &[][..]),
        ("chown", &[]),
        ("mount", &[]),
        ("socket", &[1]),
        ("socket", &[2]),
        ("mmap", &[0, 0, 7]),
        ("personality", &[8]),
    ] {
        let data = call(Arch::X86_64, name, args);
        let own = merged.compiled.program.run(&data, callgate::Endian::Little).verdict;
        assert_eq!(own, unit.evaluate(&data), "{name}");
    }
    assert_eq!(verdict(&unit, "mount", &[]), EPERM, "denied takes precedence over logged");
    assert_eq!(verdict(&unit, "chown", &[]), Verdict::errno(13));
}

#[test]
fn each_architecture_has_filters_for_those_that_it_runs() {
    let kernel = KernelVersion { major: 6, minor: 1 };
    for (native, expected) in [
        (Arch::Aarch64, &[Arch::Arm, Arch::Aarch64][..]),
        (Arch::S390x, &[Arch::S390, Arch::S390x]),
        (Arch::Riscv64, &[Arch::Riscv64]),
        (Arch::Mipsel64, &[Arch::Mipsel, Arch::Mipsel64n32, Arch::Mipsel64]),
        (Arch::M68k, &[]),
    ] {
        let unit = read_with("SystemCallFilter=~ptrace", &ReadOptions::new(native, kernel));
        let arches: Vec<Arch> = unit.filters.iter().filter_map(|filter| filter.arch).collect();
        assert_eq!(arches, expected, "{native}");
        for arch in arches {
            assert_eq!(
                unit.evaluate(&call(arch, "ptrace", &[])),
                Verdict::KILL_PROCESS,
                "{native} {arch}"
            );
        }
    }
    assert_eq!(options().native, Arch::X86_64);
}
