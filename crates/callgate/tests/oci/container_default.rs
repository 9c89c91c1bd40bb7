//! The project's own profile.

use callgate_bpf::SyscallTable;
use std::collections::BTreeSet;

use callgate::Arch;
use callgate_bpf::syscalls::{KernelVersion, facts, known_names};
use callgate_core::SyscallSet;
use callgate_core::diagram::Store;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Test};
use callgate_formats::oci::{self, Dialect, ReadOptions};
use callgate_formats::{CONTAINER_DEFAULT, CapSet, Profile, container_default};

use crate::oci::support::{lines, on, syscall, verdict_of};

const LINUX: KernelVersion = KernelVersion { major: 6, minor: 18 };

fn with_caps(caps: &str) -> Profile {
    let mut options = ReadOptions::new(Arch::X86_64, LINUX);
    options.caps = caps.parse::<CapSet>().unwrap();
    container_default(&options).unwrap_or_else(|messages| panic!("{}", lines(&messages)))
}

#[test]
fn it_is_read_without_a_warning_for_every_machine() {
    for arch in Arch::ALL {
        for caps in [CapSet::none(), CapSet::docker(), CapSet::all()] {
            let mut options = ReadOptions::new(*arch, LINUX);
            options.caps = caps;
            options.strict = true;
            let profile = container_default(&options)
                .unwrap_or_else(|messages| panic!("{arch} {}", lines(&messages)));
            assert_eq!(lines(&profile.warnings), "", "{arch} {caps}");
            assert_eq!(profile.dialect, Some(Dialect::Docker));
            assert_eq!(on(&profile.policy, *arch, "execve", &[]), "ALLOW", "{arch}");
        }
    }
}

#[test]
fn it_names_every_syscall_up_to_its_kernel_and_each_group_has_a_comment() {
    let quoted: BTreeSet<&str> = CONTAINER_DEFAULT.split('"').skip(1).step_by(2).collect();
    let named = |name: &&str| {
        let introduced = facts(name).and_then(|facts| facts.introduced);
        introduced.is_some_and(|version| version > LINUX) || quoted.contains(name)
    };
    let missing: Vec<&str> = known_names().filter(|name| !named(name)).collect();
    assert_eq!(missing, [""; 0]);
    let entries = CONTAINER_DEFAULT.matches("\"names\":").count();
    assert!(entries > 40);
    assert_eq!(CONTAINER_DEFAULT.matches("\"comment\":").count(), entries);
}

#[test]
fn by_default_ordinary_syscalls_are_allowed_and_those_that_affect_the_host_are_not() {
    let profile = with_caps("docker");
    for name in [
        "read",
        "openat",
        "execve",
        "mmap",
        "futex",
        "epoll_wait",
        "sendmsg",
        "chroot",
        "mknod",
        "ptrace",
        "set_mempolicy",
        "io_submit",
        "prctl",
        "seccomp",
        "mount_setattr",
    ] {
        let expected = if name == "mount_setattr" { "ERRNO(EPERM)" } else { "ALLOW" };
        assert_eq!(syscall(&profile, name, &[]), expected, "{name}");
    }
    for name in [
        "mount",
        "setns",
        "bpf",
        "keyctl",
        "kexec_load",
        "io_uring_setup",
        "userfaultfd",
        "init_module",
        "open_by_handle_at",
        "settimeofday",
        "reboot",
        "perf_event_open",
        "syslog",
        "swapon",
    ] {
        assert_eq!(syscall(&profile, name, &[]), "ERRNO(EPERM)", "{name}");
    }
    assert_eq!(syscall(&profile, "clone3", &[]), "ERRNO(ENOSYS)");
    assert_eq!(verdict_of(&profile.policy, Arch::X86_64, 600, &[]), "ERRNO(ENOSYS)");
}

#[test]
fn namespaces_sockets_and_personalities_are_distinguished() {
    let profile = with_caps("docker");
    for (name, given, verdict) in [
        ("clone", 0x003d_0f00, "ALLOW"),
        ("clone", 0x0100_0011, "ALLOW"),
        ("clone", 0x1000_0011, "ERRNO(EPERM)"),
        ("clone", 0x0002_0000, "ERRNO(EPERM)"),
        ("unshare", 0x200, "ALLOW"),
        ("unshare", 0x80, "ERRNO(EPERM)"),
        ("unshare", 0x1000_0000, "ERRNO(EPERM)"),
        ("socket", 1, "ALLOW"),
        ("socket", 2, "ALLOW"),
        ("socket", 10, "ALLOW"),
        ("socket", 16, "ALLOW"),
        ("socket", 17, "ALLOW"),
        ("socket", 0, "ERRNO(EPERM)"),
        ("socket", 31, "ERRNO(EPERM)"),
        ("socket", 38, "ERRNO(EPERM)"),
        ("socket", 40, "ERRNO(EPERM)"),
        ("socket", 0x1_0000_0028, "ERRNO(EPERM)"),
        ("personality", 0, "ALLOW"),
        ("personality", 8, "ALLOW"),
        ("personality", 0x2_0008, "ALLOW"),
        ("personality", 0xffff_ffff, "ALLOW"),
        ("personality", 0x4_0000, "ERRNO(EPERM)"),
        ("personality", 0x40_0000, "ERRNO(EPERM)"),
    ] {
        assert_eq!(syscall(&profile, name, &[given]), verdict, "{name} {given:#x}");
    }
    // On IBM Z the flags of clone are the second argument.
    let profile = container_default(&ReadOptions::new(Arch::S390x, LINUX)).unwrap();
    let clone = |args: &[u64]| on(&profile.policy, Arch::S390x, "clone", args);
    assert_eq!(clone(&[0x1000_0000, 0x11]), "ALLOW");
    assert_eq!(clone(&[0, 0x1000_0011]), "ERRNO(EPERM)");
}

#[test]
fn capabilities_allow_their_groups() {
    for (caps, name, given) in [
        ("CAP_SYS_ADMIN", "mount", 0),
        ("CAP_SYS_ADMIN", "clone3", 0),
        ("CAP_SYS_ADMIN", "clone", 0x1000_0000),
        ("CAP_SYS_ADMIN", "unshare", 0x1000_0000),
        ("CAP_BPF", "bpf", 0),
        ("CAP_PERFMON", "perf_event_open", 0),
        ("CAP_SYSLOG", "syslog", 0),
        ("CAP_SYS_PTRACE", "kcmp", 0),
        ("CAP_SYS_TIME", "clock_settime", 0),
        ("CAP_SYS_MODULE", "finit_module", 0),
        ("CAP_SYS_BOOT", "reboot", 0),
        ("CAP_SYS_CHROOT", "chroot", 0),
        ("CAP_SYS_NICE", "move_pages", 0),
        ("CAP_SYS_RAWIO", "iopl", 0),
        ("CAP_SYS_PACCT", "acct", 0),
        ("CAP_SYS_TTY_CONFIG", "vhangup", 0),
        ("CAP_DAC_READ_SEARCH", "open_by_handle_at", 0),
        ("CAP_NET_RAW", "socket", 17),
        ("CAP_NET_ADMIN", "socket", 31),
    ] {
        assert_eq!(syscall(&with_caps(caps), name, &[given]), "ALLOW", "{caps} {name}");
        assert_ne!(syscall(&with_caps("none"), name, &[given]), "ALLOW", "none {name}");
    }
    for name in ["kexec_load", "swapon", "keyctl", "io_uring_setup"] {
        assert_eq!(syscall(&with_caps("all"), name, &[]), "ERRNO(EPERM)", "{name}");
    }
}

#[test]
fn tracing_needs_a_kernel_that_filters_after_the_tracer() {
    let mut options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 4, minor: 7 });
    assert_eq!(syscall(&container_default(&options).unwrap(), "ptrace", &[]), "ERRNO(EPERM)");
    options.kernel = KernelVersion { major: 4, minor: 8 };
    assert_eq!(syscall(&container_default(&options).unwrap(), "ptrace", &[]), "ALLOW");
}

/// The syscalls that `docs/by-descriptor.json` permits only for descriptors below 65,536.
const BY_DESCRIPTOR: [&str; 22] = [
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "lseek",
    "close",
    "fstat",
    "fcntl",
    "fdatasync",
    "epoll_wait",
    "epoll_pwait",
    "epoll_ctl",
    "recvfrom",
    "sendto",
    "recvmsg",
    "sendmsg",
    "accept4",
    "shutdown",
    "getsockopt",
    "setsockopt",
];

/// The profile is used to measure filters whose verdicts the kernel's cache does not hold.
#[test]
fn the_profile_by_descriptor_differs_only_by_descriptors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/by-descriptor.json");
    let text = std::fs::read_to_string(path).unwrap();
    let limit = Test::new(Field::arg(0).unwrap(), Cmp::Ge, 0x1_0000);
    for (arch, caps) in [
        (Arch::X86_64, CapSet::docker()),
        (Arch::X86_64, CapSet::all()),
        (Arch::Aarch64, CapSet::none()),
    ] {
        let mut options = ReadOptions::new(arch, LINUX);
        options.caps = caps;
        options.dialect = Some(Dialect::Docker);
        options.arches = vec![arch];
        let read = oci::read(&text, &options);
        let own = read.unwrap_or_else(|messages| panic!("{}", lines(&messages)));
        assert_eq!(lines(&own.warnings), "");
        let whole = container_default(&options).unwrap().policy;
        let sections = whole.sections().iter().map(|section| {
            let denied = section.arches().flat_map(|arch| {
                BY_DESCRIPTOR.iter().filter_map(move |name| arch.number(name)).map(|nr| Rule {
                    syscalls: SyscallSet::one(nr),
                    when: Condition::test(limit),
                    verdict: section.default,
                })
            });
            let rules = denied.chain(section.rules.iter().cloned()).collect();
            section.with_rules(rules)
        });
        let expected = Policy::new(sections.collect(), whole.bad_arch()).unwrap();
        let mut store = Store::default();
        let expected = store.policy(&expected).unwrap();
        assert!(expected == store.policy(&own.policy).unwrap(), "{arch}");
    }
}
