//! An independent reader of systemd units.

use callgate_bpf::SyscallTable;
use std::collections::HashSet;

use callgate_core::{Arch, SeccompData};

/// The names in lists of systemd.
pub(super) fn systemd_names(text: &str) -> HashSet<&str> {
    let lists = text.lines().filter_map(|line| {
        line.strip_prefix("SystemCallFilter=").or(line.strip_prefix("SystemCallLog=~"))
    });
    lists.flat_map(|list| list.split(' ')).collect()
}

/// Whether a directive in the text of a unit denies a syscall, according to systemd.exec(5).
pub(super) fn is_denied_by_directives(text: &str, data: &SeccompData) -> bool {
    let arch = Arch::of_syscall(data.arch, data.nr).unwrap();
    let Some(name) = arch.syscall_name(data.nr) else { return false };
    let a = data.args;
    let set_id = |mode: u64| mode & 0o6000 != 0;
    text.lines().any(|line| match line.split_once('=') {
        Some(("RestrictAddressFamilies", families)) => {
            let number = |family: &str| match family {
                "AF_UNIX" => 1,
                "AF_INET" => 2,
                "AF_INET6" => 10,
                "AF_NETLINK" => 16,
                other => {
                    let mut known = callgate_formats::systemd::families();
                    known.find(|(name, _)| *name == other).unwrap().1.into()
                }
            };
            let on_list = families.split(' ').map(number).any(|family| family == a[0]);
            name == "socket" && arch != Arch::X86 && !on_list
        }
        Some(("RestrictNamespaces", kept)) => {
            let flags = [
                ("cgroup", 0x0200_0000),
                ("ipc", 0x0800_0000),
                ("net", 0x4000_0000),
                ("mnt", 0x2_0000),
                ("pid", 0x2000_0000),
                ("user", 0x1000_0000),
                ("uts", 0x0400_0000),
                ("time", 0x80),
            ];
            let kept: Vec<&str> =
                if kept == "yes" { Vec::new() } else { kept.split(' ').collect() };
            let gone = flags.iter().filter(|(name, _)| !kept.contains(name));
            let gone: u64 = gone.map(|(_, flag)| flag).sum();
            // The first two arguments of clone are the other way round there.
            let swapped = matches!(arch, Arch::S390 | Arch::S390x);
            match name {
                "clone" => a[usize::from(swapped)] & gone != 0,
                "unshare" => a[0] & gone != 0,
                "setns" => kept.is_empty() || a[1] == 0 || a[1] & gone != 0,
                "clone3" => true,
                _ => false,
            }
        }
        Some(("MemoryDenyWriteExecute", "yes")) => match name {
            "mmap" if arch == Arch::X86 => true,
            "mmap" | "mmap2" => a[2] & 6 == 6,
            "mprotect" | "pkey_mprotect" => a[2] & 4 != 0,
            "shmat" => arch != Arch::X86 && a[2] & 0o100_000 != 0,
            _ => false,
        },
        Some(("RestrictRealtime", "yes")) => {
            name == "sched_setscheduler" && ![0, 3, 5].contains(&a[1])
        }
        Some(("LockPersonality", "yes")) => name == "personality" && a[0] != 0,
        Some(("RestrictSUIDSGID", "yes")) => match name {
            "chmod" | "fchmod" | "mkdir" | "mknod" | "creat" => set_id(a[1]),
            "fchmodat" | "mkdirat" | "mknodat" => set_id(a[2]),
            "open" => a[1] & 0o100 != 0 && set_id(a[2]),
            "openat" => a[2] & 0o100 != 0 && set_id(a[3]),
            "openat2" => true,
            _ => false,
        },
        _ => false,
    })
}
