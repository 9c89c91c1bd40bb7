//! The other directives.

use callgate::{Arch, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::systemd::{Directive, ReadOptions, UnitFilters};

use crate::systemd::support::{
    ENOSYS, EPERM, assert_verdicts, call, messages, options, read, read_with, verdict, version,
};

const ALLOW: Verdict = Verdict::ALLOW;
const EAFNOSUPPORT: Verdict = Verdict::errno(97);

/// The architectures of the filters of a directive.
fn arches(unit: &UnitFilters, directive: Directive) -> Vec<Option<Arch>> {
    unit.filters
        .iter()
        .filter(|filter| filter.directive == directive)
        .map(|filter| filter.arch)
        .collect()
}

#[test]
fn booleans_have_one_filter_per_architecture() {
    for (directive, name) in [
        ("ProtectHostname", "sethostname"),
        ("ProtectKernelModules", "finit_module"),
        ("ProtectKernelLogs", "syslog"),
        ("ProtectClock", "clock_settime"),
        ("PrivateDevices", "ioperm"),
        ("RestrictSUIDSGID", "openat2"),
    ] {
        let unit = read(&format!("{directive}=yes"));
        let all = [Arch::X86, Arch::X32, Arch::X86_64].map(Some);
        assert_eq!(
            unit.filters.iter().map(|filter| filter.arch).collect::<Vec<_>>(),
            all,
            "{directive}"
        );
        assert!(unit.filters.iter().all(|filter| filter.directive.name() == directive));
        for arch in [Arch::X86, Arch::X32, Arch::X86_64] {
            let expected = if name == "openat2" { ENOSYS } else { EPERM };
            assert_eq!(unit.evaluate(&call(arch, name, &[])), expected, "{directive} {arch}");
            assert_eq!(unit.evaluate(&call(arch, "read", &[])), ALLOW, "{directive} {arch}");
        }
        assert!(read(&format!("{directive}=off")).filters.is_empty());
    }
}

#[test]
fn address_families_are_allowed_or_denied() {
    let unit = read("RestrictAddressFamilies=AF_UNIX AF_INET6\nRestrictAddressFamilies=AF_INET");
    let family = |unit: &UnitFilters, number| verdict(unit, "socket", &[number]);
    for (number, expected) in [
        (0, EAFNOSUPPORT),
        (1, ALLOW),
        (2, ALLOW),
        (3, EAFNOSUPPORT),
        (10, ALLOW),
        (11, EAFNOSUPPORT),
        (1 << 32 | 1, EAFNOSUPPORT),
    ] {
        assert_eq!(family(&unit, number), expected, "{number}");
    }
    assert_eq!(
        arches(&unit, Directive::RestrictAddressFamilies),
        [Some(Arch::X32), Some(Arch::X86_64)]
    );
    assert_eq!(unit.evaluate(&call(Arch::X86, "socket", &[3])), ALLOW, "x86 has socketcall");
    let unit =
        read("RestrictAddressFamilies=~AF_PACKET AF_NETLINK\nRestrictAddressFamilies=AF_NETLINK");
    assert_eq!(
        (family(&unit, 17), family(&unit, 16), family(&unit, 1)),
        (EAFNOSUPPORT, ALLOW, ALLOW)
    );
    let unit = read("RestrictAddressFamilies=none");
    assert_eq!((family(&unit, 1), family(&unit, 100)), (EAFNOSUPPORT, EAFNOSUPPORT));
    let unit = read("RestrictAddressFamilies=AF_UNIX\nRestrictAddressFamilies=~AF_UNIX");
    assert_eq!(family(&unit, 1), EAFNOSUPPORT, "an empty list allows nothing");
    assert!(read("RestrictAddressFamilies=AF_UNIX\nRestrictAddressFamilies=").filters.is_empty());
    assert!(
        read("RestrictAddressFamilies=~AF_UNIX\nRestrictAddressFamilies=AF_UNIX")
            .filters
            .is_empty()
    );
}

#[test]
fn namespaces_are_denied_by_their_flags() {
    let unit = read("RestrictNamespaces=yes");
    assert_verdicts(
        &unit,
        &[("clone3", ENOSYS), ("setns", EPERM), ("unshare", ALLOW), ("clone", ALLOW)],
    );
    for flag in [0x0002_0000, 0x1000_0000, 0x80] {
        assert_eq!(verdict(&unit, "unshare", &[flag]), EPERM);
        assert_eq!(verdict(&unit, "clone", &[flag | 17]), EPERM);
    }
    let unit = read("RestrictNamespaces=user net\nRestrictNamespaces=~net");
    assert_eq!(verdict(&unit, "unshare", &[0x1000_0000]), ALLOW);
    assert_eq!(verdict(&unit, "unshare", &[0x4000_0000]), EPERM);
    assert_eq!(verdict(&unit, "setns", &[3, 0x1000_0000]), ALLOW);
    assert_eq!(verdict(&unit, "setns", &[3, 0]), EPERM);
    assert_eq!(verdict(&unit, "setns", &[3, 0x4000_0000]), EPERM);
    for nothing in ["no", "~", "cgroup ipc net mnt pid user uts time", "yes\nRestrictNamespaces="] {
        assert!(read(&format!("RestrictNamespaces={nothing}")).filters.is_empty(), "{nothing}");
    }
}

#[test]
fn the_flags_of_clone_are_the_second_argument_on_s390x() {
    let options = ReadOptions::new(Arch::S390x, KernelVersion { major: 6, minor: 1 });
    let unit = read_with("RestrictNamespaces=~user", &options);
    let clone = |args: &[u64]| unit.evaluate(&call(Arch::S390x, "clone", args));
    assert_eq!((clone(&[0, 0x1000_0000]), clone(&[0x1000_0000, 0])), (EPERM, ALLOW));
}

#[test]
fn the_scheduler_keeps_three_policies() {
    let unit = read("RestrictRealtime=yes");
    for (policy, expected) in [
        (0, ALLOW),
        (1, EPERM),
        (2, EPERM),
        (3, ALLOW),
        (4, EPERM),
        (5, ALLOW),
        (6, EPERM),
        (0x4000_0000, EPERM),
    ] {
        assert_eq!(verdict(&unit, "sched_setscheduler", &[0, policy]), expected, "{policy}");
    }
}

#[test]
fn set_id_bits_are_denied_in_modes() {
    let unit = read("RestrictSUIDSGID=yes");
    for bit in [0o4000, 0o2000] {
        for (name, args) in [
            ("chmod", &[0, bit][..]),
            ("fchmodat", &[0, 0, bit | 0o755]),
            ("fchmodat2", &[0, 0, bit]),
            ("mkdirat", &[0, 0, bit]),
            ("creat", &[0, bit]),
            ("open", &[0, 0x40, bit]),
            ("openat", &[0, 0, 0x41, bit]),
        ] {
            assert_eq!(verdict(&unit, name, args), EPERM, "{name}");
        }
        assert_eq!(verdict(&unit, "open", &[0, 0, bit]), ALLOW, "creates no file");
    }
    assert_eq!(verdict(&unit, "chmod", &[0, 0o1777]), ALLOW);
    let dynamic = read("DynamicUser=yes");
    assert_eq!(dynamic.filters, unit.filters, "DynamicUser implies it");
    assert_eq!(read("DynamicUser=yes\nRestrictSUIDSGID=no").filters, unit.filters);
    let mut old = options();
    old.libseccomp_lacks = vec!["fchmodat2".to_owned()];
    assert_eq!(verdict(&read_with("RestrictSUIDSGID=yes", &old), "fchmodat2", &[]), ENOSYS);
}

#[test]
fn memory_cannot_become_executable() {
    let unit = read("MemoryDenyWriteExecute=yes");
    assert_eq!(verdict(&unit, "mmap", &[0, 0, 6]), EPERM);
    assert_eq!(verdict(&unit, "mmap", &[0, 0, 5]), ALLOW);
    assert_eq!(verdict(&unit, "mprotect", &[0, 0, 4]), EPERM);
    assert_eq!(verdict(&unit, "pkey_mprotect", &[0, 0, 4, 0]), EPERM);
    assert_eq!(verdict(&unit, "shmat", &[0, 0, 0o100_000]), EPERM);
    let on_x86 = |name, args: &[u64]| unit.evaluate(&call(Arch::X86, name, args));
    assert_eq!((on_x86("mmap", &[]), on_x86("mmap2", &[0, 0, 6])), (EPERM, EPERM));
    assert_eq!(on_x86("mmap2", &[0, 0, 3]), ALLOW);
}

#[test]
fn new_kernels_restrict_memory_without_a_filter() {
    let mut options = options();
    options.kernel = KernelVersion { major: 6, minor: 3 };
    assert!(read_with("MemoryDenyWriteExecute=yes", &options).filters.is_empty());
    options.version = version(253).version;
    assert_eq!(read_with("MemoryDenyWriteExecute=yes", &options).filters.len(), 3);
}

#[test]
fn the_personality_is_locked() {
    let unit = read("LockPersonality=yes");
    let personality = |unit: &UnitFilters, number| verdict(unit, "personality", &[number]);
    assert_eq!(
        (personality(&unit, 0), personality(&unit, 8), personality(&unit, 0xffff_ffff)),
        (ALLOW, EPERM, EPERM)
    );
    let unit = read("Personality=x86\nLockPersonality=yes");
    assert_eq!((personality(&unit, 0), personality(&unit, 8)), (EPERM, ALLOW));
    let unit = read("Personality=x86\nPersonality=\nLockPersonality=yes");
    assert_eq!(personality(&unit, 0), ALLOW);
}

#[test]
fn sysctl_is_denied_where_it_existed() {
    let unit = read("ProtectKernelTunables=yes");
    assert_eq!(
        arches(&unit, Directive::ProtectKernelTunables),
        [Some(Arch::X86), Some(Arch::X86_64)]
    );
    assert_eq!(verdict(&unit, "_sysctl", &[]), EPERM);
    let options = ReadOptions::new(Arch::Aarch64, KernelVersion { major: 6, minor: 1 });
    let unit = read_with("ProtectKernelTunables=yes", &options);
    assert_eq!(arches(&unit, Directive::ProtectKernelTunables), [Some(Arch::Arm)]);
}

#[test]
fn a_private_host_name_needs_no_filter() {
    for value in ["private", "private:box", "no", ""] {
        assert!(read(&format!("ProtectHostname={value}")).filters.is_empty(), "{value}");
    }
    for value in ["yes", "yes:box", "yes:%p.example"] {
        assert_eq!(read(&format!("ProtectHostname={value}")).filters.len(), 3, "{value}");
    }
    assert_eq!(messages("ProtectHostname=no:box").len(), 1);
    assert_eq!(messages("ProtectHostname=yes:a b").len(), 1);
    let old = read_with("ProtectHostname=private", &version(257));
    assert_eq!((old.filters.len(), old.warnings.len()), (0, 1));
}
