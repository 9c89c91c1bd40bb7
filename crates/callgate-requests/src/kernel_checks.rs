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

/// Syscalls, and what the kernel checks.
const KNOWN: [(&[&str], &str); 19] = [
    (&["unshare", "clone", "clone3"], NAMESPACES),
    (
        &["setns"],
        "a missing capability CAP_SYS_ADMIN in the user namespace that owns the namespace",
    ),
    (
        &[
            "mount",
            "umount2",
            "umount",
            "pivot_root",
            "fsopen",
            "fsmount",
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
        &["set_mempolicy", "personality"],
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
        assert!(has("perf_event_open", 13, "perf_event_paranoid"));
        assert!(has("clone3", 38, "older"));
        assert_eq!(elsewhere("mount", 2, 38), None);
        assert_eq!(elsewhere("read", 1, 38), None);
    }

    #[test]
    fn the_names_are_syscalls() {
        let names = KNOWN.iter().flat_map(|(names, _)| names.iter());
        for name in names {
            assert!(callgate_bpf::syscalls::is_known_name(name), "{name}");
        }
    }
}
