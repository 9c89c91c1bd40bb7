//! Why a syscall fails with the error of a filter although none denied it: the kernel checks capabilities and settings itself.
//!
//! Sources: the sections "ERRORS" of the manual pages (man-pages 6.9), `Documentation/admin-guide/sysctl/` of Linux 6.12,
//! `capabilities(7)`.

/// The reasons besides a filter, as far as they are known, for a syscall that failed with this errno.
pub fn elsewhere(name: &str, errno: u16, enosys: u16) -> Option<String> {
    const EPERM: u16 = 1;
    const EACCES: u16 = 13;
    if errno == enosys {
        return Some("a kernel without it: an older one, or one built without it".to_owned());
    }
    if errno != EPERM && errno != EACCES {
        return None;
    }
    let (_, reason) = KNOWN.iter().find(|(names, _)| names.contains(&name))?;
    Some((*reason).to_owned())
}

const NAMESPACES: &str = "a missing capability CAP_SYS_ADMIN; for unprivileged user namespaces, kernel.unprivileged_userns_clone, \
                          kernel.apparmor_restrict_unprivileged_userns or user.max_user_namespaces";
const ADMIN: &str = "a missing capability CAP_SYS_ADMIN, or AppArmor or SELinux";
const MOUNT: &str = "a missing capability CAP_SYS_ADMIN, or AppArmor or SELinux; for proc and sysfs in a user namespace, parts of them that are \
                     masked outside, as container engines do";
const FILES: &str = "the permissions of the file or its directory, a read-only or immutable file, or AppArmor, SELinux or Landlock";
const OWNER: &str =
    "a file of another user, a missing capability CAP_FOWNER or CAP_CHOWN, or the file system";
const USERS: &str = "a missing capability CAP_SETUID or CAP_SETGID, or an ID without a mapping in the user namespace";

/// Syscalls, and what the kernel checks.
const KNOWN: [(&[&str], &str); 36] = [
    (&["unshare", "clone", "clone3"], NAMESPACES),
    (
        &["setns"],
        "a missing capability CAP_SYS_ADMIN in the user namespace that owns the namespace",
    ),
    (
        &[
            "umount2",
            "umount",
            "pivot_root",
            "fsopen",
            "move_mount",
            "open_tree",
            "mount_setattr",
            "fspick",
            "fsconfig",
            "swapon",
            "swapoff",
            "sethostname",
            "setdomainname",
            "quotactl",
        ],
        ADMIN,
    ),
    (&["mount", "fsmount"], MOUNT),
    (&["chroot"], "a missing capability CAP_SYS_CHROOT"),
    (
        &["ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd"],
        "kernel.yama.ptrace_scope, a missing capability CAP_SYS_PTRACE, or a process of another user",
    ),
    (
        &["perf_event_open"],
        "kernel.perf_event_paranoid, or a missing capability CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN)",
    ),
    (
        &["bpf"],
        "kernel.unprivileged_bpf_disabled, or a missing capability CAP_BPF (before Linux 5.8 CAP_SYS_ADMIN)",
    ),
    (
        &["io_uring_setup", "io_uring_enter", "io_uring_register"],
        "kernel.io_uring_disabled, or SELinux",
    ),
    (&["userfaultfd"], "vm.unprivileged_userfaultfd, or a missing capability CAP_SYS_PTRACE"),
    (&["keyctl", "add_key", "request_key"], "the permissions of the key"),
    (
        &["clock_settime", "clock_settime64", "settimeofday", "stime", "adjtimex", "clock_adjtime"],
        "a missing capability CAP_SYS_TIME",
    ),
    (
        &["mbind", "migrate_pages", "move_pages"],
        "a missing capability CAP_SYS_NICE, for pages or processes of others",
    ),
    (
        &[
            "sched_setscheduler",
            "sched_setattr",
            "sched_setparam",
            "setpriority",
            "nice",
            "ioprio_set",
        ],
        "a missing capability CAP_SYS_NICE, or the limits RLIMIT_RTPRIO and RLIMIT_NICE",
    ),
    (&["mknod", "mknodat"], "a missing capability CAP_MKNOD"),
    (
        &["init_module", "finit_module", "delete_module"],
        "a missing capability CAP_SYS_MODULE, or kernel.modules_disabled",
    ),
    (&["syslog"], "kernel.dmesg_restrict, or a missing capability CAP_SYSLOG"),
    (&["reboot", "kexec_load", "kexec_file_load"], "a missing capability CAP_SYS_BOOT"),
    (&["open_by_handle_at"], "a missing capability CAP_DAC_READ_SEARCH"),
    (
        &[
            "open",
            "openat",
            "openat2",
            "creat",
            "mkdir",
            "mkdirat",
            "unlink",
            "unlinkat",
            "rmdir",
            "rename",
            "renameat",
            "renameat2",
            "link",
            "linkat",
            "symlink",
            "symlinkat",
            "truncate",
            "truncate64",
            "chdir",
            "access",
            "faccessat",
            "faccessat2",
            "stat",
            "newfstatat",
            "statx",
        ],
        FILES,
    ),
    (
        &[
            "chmod",
            "fchmod",
            "fchmodat",
            "fchmodat2",
            "chown",
            "fchown",
            "lchown",
            "fchownat",
            "utimensat",
            "utimensat_time64",
            "setxattr",
            "fsetxattr",
            "lsetxattr",
        ],
        OWNER,
    ),
    (
        &["execve", "execveat"],
        "a file that may not be executed, a file system that is mounted with noexec, or AppArmor or SELinux",
    ),
    (
        &[
            "setuid",
            "setgid",
            "setgroups",
            "setresuid",
            "setresgid",
            "setreuid",
            "setregid",
            "setfsuid",
            "setfsgid",
        ],
        USERS,
    ),
    (&["capset"], "capabilities that the process does not have, or that its bounding set lacks"),
    (&["kill", "tkill", "tgkill", "pidfd_send_signal"], "a process of another user, or AppArmor"),
    (
        &["bind"],
        "a port below net.ipv4.ip_unprivileged_port_start without CAP_NET_BIND_SERVICE, the directory of a socket, or AppArmor or SELinux",
    ),
    (
        &["socket"],
        "a raw or packet socket without CAP_NET_RAW, net.ipv4.ping_group_range, or AppArmor or SELinux",
    ),
    (
        &["connect", "sendto", "sendmsg", "sendmmsg"],
        "a firewall, a broadcast address without SO_BROADCAST, or AppArmor, SELinux or Landlock",
    ),
    (&["setsockopt"], "a missing capability CAP_NET_ADMIN or CAP_NET_RAW, which some options need"),
    (
        &["ioctl"],
        "a missing capability, which many requests need, or the permissions of the device",
    ),
    (&["mlock", "mlock2", "mlockall"], "the limit RLIMIT_MEMLOCK without CAP_IPC_LOCK"),
    (&["setrlimit", "prlimit64"], "a hard limit, which only CAP_SYS_RESOURCE raises"),
    (&["sched_setaffinity"], "a process of another user without CAP_SYS_NICE"),
    (&["fanotify_init"], "a missing capability CAP_SYS_ADMIN"),
    (&["iopl", "ioperm"], "a missing capability CAP_SYS_RAWIO, or the kernel's lockdown"),
    (
        &["get_mempolicy", "set_mempolicy", "personality"],
        "an AppArmor or SELinux policy: the kernel itself does not refuse it with this error",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_reasons_are_for_the_errors_that_it_returns() {
        let has =
            |name, errno, text| elsewhere(name, errno, 38).is_some_and(|why| why.contains(text));
        assert!(has("mount", 1, "CAP_SYS_ADMIN"));
        assert!(has("mount", 1, "masked"), "Docker masks parts of /proc");
        assert!(has("fchmodat2", 1, "CAP_FOWNER"));
        assert!(has("setsockopt", 1, "CAP_NET_ADMIN"));
        assert!(has("perf_event_open", 13, "perf_event_paranoid"));
        assert!(has("clone3", 38, "older"));
        assert_eq!(elsewhere("mount", 2, 38), None);
        assert_eq!(elsewhere("read", 1, 38), None);
    }

    #[test]
    fn each_syscall_has_one_reason() {
        let mut names: Vec<&str> =
            KNOWN.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_names_are_syscalls() {
        let names = KNOWN.iter().flat_map(|(names, _)| names.iter());
        for name in names {
            assert!(callgate_bpf::syscalls::is_known_name(name), "{name}");
        }
    }
}
