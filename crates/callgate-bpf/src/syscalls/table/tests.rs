//! The tables are sorted, unique and inverse, and agree with independent sources.

use super::*;
use crate::SyscallTable;
use crate::syscalls::{ArgFacts, KernelVersion};
use std::collections::BTreeSet;

#[test]
fn the_numbers_are_those_of_the_syscalls_in_order() {
    for arch in Arch::ALL.iter().copied() {
        let numbers: Vec<u32> = arch.syscall_numbers().collect();
        assert!(numbers.len() > 200 && numbers.is_sorted(), "{arch}");
        assert!(arch.syscalls().map(|(nr, _)| nr).eq(numbers), "{arch}");
    }
}

#[test]
fn numbers_are_found_by_interval() {
    for arch in Arch::ALL.iter().copied() {
        let all: Vec<u32> = arch.syscall_numbers().collect();
        let mut bounds = vec![0, 1, 639, 640, PRIVATE - 1, PRIVATE, PRIVATE + 5, PRIVATE + 16];
        bounds.extend(all.iter().step_by(37).flat_map(|nr| [nr.saturating_sub(1), *nr, nr + 1]));
        bounds.extend([0, 639, 640, PRIVATE + 15, PRIVATE + 16].map(|nr| arch.first_number() + nr));
        bounds.push(u32::MAX);
        for (first, last) in bounds.iter().flat_map(|a| bounds.iter().map(move |b| (*a, *b))) {
            let expected = all.iter().copied().filter(|nr| (first..=last).contains(nr));
            let found = arch.syscall_numbers_within(first, last);
            assert!(found.eq(expected), "{arch} {first} {last}");
        }
    }
}

#[test]
fn names_are_sorted_and_facts_are_complete() {
    assert!(SYSCALLS.is_sorted_by(|(a, ..), (b, ..)| a < b));
    assert!(ALIASES.is_sorted());
    for (name, _, facts) in &SYSCALLS {
        let read = SyscallFacts::read(name, facts).unwrap();
        assert_eq!(*name, read.name);
        // Nothing of the row was skipped.
        let of = |ArgFacts { name, ctype, bits }: ArgFacts| format!("{name}: {bits} {ctype}");
        let args: Vec<String> = read.args.iter().map(of).collect();
        let args = if read.args_known { format!(" ({})", args.join(", ")) } else { String::new() };
        let since = if read.since.is_empty() { "-" } else { read.since };
        assert_eq!(*facts, format!("{since}{args}"));
        assert_eq!(super::facts(name).as_ref(), Some(&read));
    }
    assert!(known_names().eq(SYSCALLS.iter().map(|(name, ..)| *name)));
    assert!(ELSEWHERE.is_sorted_by(|a, b| a < b));
    assert!(ELSEWHERE.iter().all(|name| row_of_name(name).is_none()));
}

#[test]
fn each_slot_has_one_number() {
    for number in 0..SLOTS as u32 {
        assert_eq!(slot(number_of_slot(number)), Some(number as usize));
    }
    assert_eq!((slot(639), slot(0xf0000)), (Some(639), Some(640)));
    for number in [640, 0xf0000 - 1, 0xf0010, u32::MAX] {
        assert_eq!(slot(number), None, "{number:#x}");
    }
}

#[test]
fn names_are_equal_or_near() {
    assert_eq!((known_name("read"), nearest_name("raed")), (Some("read"), Some("read")));
    assert_eq!((known_name("raed"), nearest_name("frobnicate")), (None, None));
}

#[test]
fn each_name_is_found_in_its_row_and_no_other_is() {
    for (row, (name, ..)) in SYSCALLS.iter().enumerate() {
        assert_eq!(row_of_name(name), Some(row), "{name}");
        for other in [format!("{name}_"), name.to_uppercase(), format!(" {name}")] {
            assert_eq!(row_of_name(&other), None, "{other}");
        }
    }
    for other in ["", "r", "reed", &"x".repeat(LONGEST_NAME), &"read".repeat(1 << 20)] {
        assert_eq!(row_of_name(other), None);
    }
}

#[test]
fn names_and_numbers_are_inverse() {
    for arch in Arch::ALL {
        let syscalls: Vec<_> = arch.syscalls().collect();
        assert!(syscalls.len() > 300, "{arch}: {}", syscalls.len());
        assert!(syscalls.is_sorted_by(|(a, _), (b, _)| a < b), "{arch}");
        let names: BTreeSet<_> = syscalls.iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), syscalls.len(), "{arch}");
        for (nr, name) in &syscalls {
            assert_eq!(arch.number(name), Some(*nr), "{arch} {name}");
            assert_eq!(arch.syscall_name(*nr), Some(*name), "{arch} {nr}");
        }
        let in_column = SYSCALLS.iter().filter(|(_, row, _)| row[column(*arch)] != __).count();
        assert_eq!(in_column, syscalls.len(), "{arch}");
        let numbers: BTreeSet<_> = syscalls.iter().map(|(nr, _)| *nr).collect();
        for nr in (0..10_000).chain(0x4000_0000..0x4000_1000).chain(0xf0000 - 9..0xf0100) {
            assert_eq!(arch.syscall_name(nr).is_some(), numbers.contains(&nr), "{arch} {nr}");
        }
        assert_eq!(arch.syscall_name(u32::MAX), None);
    }
}

#[test]
fn every_alias_has_the_number_of_its_name() {
    let mut seen = 0;
    for arch in Arch::ALL {
        for (_, second, first) in ALIASES.iter().filter(|(at, ..)| *at == column(*arch)) {
            assert_eq!(arch.number(second), arch.number(first), "{arch} {second}");
            assert!(arch.number(first).is_some_and(|nr| arch.syscall_name(nr) == Some(first)));
            seen += 1;
        }
    }
    assert_eq!(seen, ALIASES.len());
    assert_eq!(Arch::Arm.number("sync_file_range2"), Some(341));
}

/// Well-known numbers, at least one per architecture and unusual numbering.
#[test]
fn numbers_are_those_of_the_kernel() {
    for (arch, name, number) in [
        (Arch::X86_64, "read", 0),
        (Arch::X86_64, "execve", 59),
        (Arch::X86_64, "uretprobe", 335),
        (Arch::X86_64, "listns", 470),
        (Arch::X86, "read", 3),
        (Arch::X86, "socketcall", 102),
        (Arch::X86, "clock_gettime64", 403),
        (Arch::X32, "read", 0x4000_0000),
        (Arch::X32, "execve", 0x4000_0208),
        (Arch::X32, "pwritev2", 0x4000_0223),
        (Arch::Aarch64, "execve", 221),
        (Arch::Aarch64, "newfstatat", 79),
        (Arch::Arm, "execve", 11),
        (Arch::Arm, "breakpoint", 0xf0001),
        (Arch::Arm, "cacheflush", 0xf0002),
        (Arch::Arm, "usr26", 0xf0003),
        (Arch::Arm, "usr32", 0xf0004),
        (Arch::Arm, "set_tls", 0xf0005),
        (Arch::Arm, "get_tls", 0xf0006),
        (Arch::Riscv64, "execve", 221),
        (Arch::Riscv64, "riscv_hwprobe", 258),
        (Arch::S390x, "execve", 11),
        (Arch::S390x, "setuid", 213),
        (Arch::S390x, "s390_sthyi", 380),
        (Arch::S390, "setuid", 23),
        (Arch::S390, "setuid32", 213),
        (Arch::S390, "mseal", 462),
        (Arch::Ppc64le, "switch_endian", 363),
        (Arch::Ppc64, "execve", 11),
        (Arch::Ppc, "stat64", 195),
        (Arch::Loongarch64, "execve", 221),
        (Arch::Loongarch64, "statx", 291),
        (Arch::Mips, "execve", 4011),
        (Arch::Mipsel, "syscall", 4000),
        (Arch::Mips64, "read", 5000),
        (Arch::Mipsel64, "execve", 5057),
        (Arch::Mips64n32, "read", 6000),
        (Arch::Mipsel64n32, "execve", 6057),
        (Arch::M68k, "atomic_cmpxchg_32", 335),
        (Arch::Parisc, "execve", 11),
        (Arch::Parisc64, "mmap", 90),
        (Arch::Sh, "cacheflush", 123),
        (Arch::Sheb, "execve", 11),
    ] {
        assert_eq!(arch.number(name), Some(number), "{arch} {name}");
        assert_eq!(arch.syscall_name(number), Some(name), "{arch} {number}");
    }
    for arch in Arch::ALL {
        // From 424 on, new syscalls have the same number on all architectures.
        assert_eq!(arch.number("openat2").map(|nr| nr - arch.first_number()), Some(437), "{arch}");
        assert_eq!(arch.number("no_such_call"), None);
    }
    for (arch, name) in [
        (Arch::X86_64, "socketcall"),
        (Arch::Aarch64, "open"),
        (Arch::Riscv64, "llseek"),
        (Arch::Loongarch64, "renameat"),
        (Arch::Arm, "socketcall"),
        (Arch::Aarch64, "set_tls"),
    ] {
        assert_eq!(arch.number(name), None, "{arch} {name}");
    }
}

#[test]
fn multiplexers_are_used_where_the_architecture_has_them() {
    assert_eq!(Arch::X86.multiplexed("socket"), Some(("socketcall", 1)));
    assert_eq!(Arch::X86.multiplexed("sendmmsg"), Some(("socketcall", 20)));
    assert_eq!(Arch::X86.multiplexed("semop"), Some(("ipc", 1)));
    assert_eq!(Arch::X86.multiplexed("shmctl"), Some(("ipc", 24)));
    assert_eq!(Arch::X86.multiplexed("read"), None);
    // Reached through socketcall alone on x86, yet a known name everywhere.
    assert_eq!(Arch::X86.number("accept"), None);
    for (arch, socketcall, ipc) in [
        (Arch::X86_64, false, false),
        (Arch::X86, true, true),
        (Arch::X32, false, false),
        (Arch::Aarch64, false, false),
        (Arch::Arm, false, false),
        (Arch::Riscv64, false, false),
        (Arch::S390x, true, true),
        (Arch::S390, true, true),
        (Arch::Ppc64le, true, true),
        (Arch::Ppc64, true, true),
        (Arch::Ppc, true, true),
        (Arch::Loongarch64, false, false),
        (Arch::Mips, true, true),
        (Arch::Mipsel64, false, false),
        (Arch::Mips64n32, false, false),
        (Arch::M68k, true, true),
        (Arch::Parisc, false, false),
        (Arch::Parisc64, false, false),
        (Arch::Sh, true, true),
    ] {
        assert_eq!(arch.has_multiplexers(), socketcall, "{arch}");
        assert_eq!(arch.multiplexed("connect").is_some(), socketcall, "{arch}");
        assert_eq!(arch.multiplexed("msgsnd").is_some(), ipc, "{arch}");
    }
    for (_, syscall, _) in MULTIPLEXED {
        assert!(is_known_name(syscall), "{syscall}");
    }
}

#[test]
fn known_names_are_those_of_any_architecture() {
    // Of x86, of Alpha alone, of IA-64 once, of 31-bit s390.
    for name in ["read", "osf_wait4", "perfmonctl", "sigsuspend", "sync_file_range2"] {
        assert!(is_known_name(name), "{name}");
    }
    for name in ["", "raed", "READ", "reserved82", "syscalls", "sys_read"] {
        assert!(!is_known_name(name), "{name}");
    }
}

#[test]
fn facts_have_the_version_and_the_arguments() {
    let version = |major, minor| Some(KernelVersion { major, minor });
    for (name, introduced, since) in [
        ("read", version(1, 0), "1.0"),
        ("accept4", version(2, 6), "2.6.28"),
        ("seccomp", version(3, 17), "3.17"),
        ("clone3", version(5, 3), "5.3"),
        ("membarrier", version(4, 3), "4.3"),
        ("statmount", version(6, 8), "6.8"),
        ("mseal", version(6, 10), "6.10"),
        ("listns", version(6, 19), "6.19"),
        ("tuxcall", None, ""),
    ] {
        let facts = facts(name).unwrap();
        assert_eq!((facts.introduced, facts.since), (introduced, since), "{name}");
    }
    for (name, widths) in [
        ("getpid", &[][..]),
        ("clone", &[64, 64, 64, 64, 64]),
        ("personality", &[32]),
        ("ioctl", &[32, 32, 64]),
        ("openat", &[32, 64, 32, 32]),
        ("socket", &[32, 32, 32]),
        ("mmap", &[64, 64, 64, 64, 64, 64]),
        ("prctl", &[32, 64, 64, 64, 64]),
        ("setresuid", &[32, 32, 32]),
        ("fallocate", &[32, 32, 64, 64]),
        ("stat", &[64, 64]),
        ("umount2", &[64, 32]),
        ("delete_module", &[64, 32]),
        ("socketcall", &[32, 64]),
    ] {
        let facts = facts(name).unwrap();
        assert!(facts.args_known, "{name}");
        assert!(facts.args.iter().map(|arg| arg.bits).eq(widths.iter().copied()), "{name}");
    }
    assert!(!facts("sysmips").unwrap().args_known);
    assert_eq!(facts("no_such_call"), None);
}

#[test]
fn facts_are_plausible_for_every_syscall() {
    for facts in SYSCALLS.iter().map(|(name, _, row)| SyscallFacts::read(name, row).unwrap()) {
        assert!(facts.args.len() <= 6, "{}", facts.name);
        assert!(facts.args.iter().all(|arg| matches!(arg.bits, 32 | 64)), "{}", facts.name);
        assert!(facts.args.iter().all(|arg| !arg.ctype.contains('*') || arg.bits == 64));
        assert_eq!(facts.introduced.is_none(), facts.since.is_empty(), "{}", facts.name);
    }
    // Filters for x86-64 may name these; the others were never implemented.
    let unknown: Vec<_> = Arch::X86_64
        .syscalls()
        .filter(|(_, name)| facts(name).is_some_and(|facts| !facts.args_known))
        .map(|(_, name)| name)
        .collect();
    let expected = [
        "tuxcall",
        "create_module",
        "get_kernel_syms",
        "query_module",
        "getpmsg",
        "putpmsg",
        "afs_syscall",
        "security",
        "epoll_ctl_old",
        "epoll_wait_old",
        "vserver",
    ];
    assert_eq!(unknown.iter().collect::<BTreeSet<_>>(), expected.iter().collect());
}

#[test]
fn known_syscalls_have_the_order_of_their_names() {
    let all: Vec<KnownSyscall> = known_names().filter_map(KnownSyscall::named).collect();
    assert!(all.is_sorted());
    assert!(all.iter().map(|syscall| syscall.name()).eq(known_names()));
    assert_eq!(KnownSyscall::named("frobnicate"), None);
}

#[test]
fn first_numbers_are_near_the_lowest_syscall_numbers() {
    for arch in Arch::ALL.iter().copied() {
        let first = arch.syscalls().map(|(nr, _)| nr).min().unwrap();
        assert!((0..8).contains(&(first - arch.first_number())), "{arch}: {first}");
    }
}

#[test]
fn every_architecture_has_a_column() {
    assert!(Arch::ALL.iter().all(|arch| column(*arch) < COLUMNS));
}

#[test]
fn token_and_number_of_a_syscall_determine_its_architecture() {
    for arch in Arch::ALL {
        for (nr, _) in arch.syscalls() {
            assert_eq!(Arch::of_syscall(arch.token(), nr), Some(*arch));
        }
    }
}
