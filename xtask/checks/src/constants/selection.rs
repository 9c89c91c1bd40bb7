//! Which headers are read, and which of their names become constants.

/// The headers, in the order of inclusion. One that an architecture lacks is left out.
#[rustfmt::skip]
pub(super) const HEADERS: &[&str] = &[
    "linux/types.h", "asm/errno.h", "asm/fcntl.h", "asm/ioctls.h", "asm/termbits.h", "asm/mman.h",
    "asm/poll.h", "asm/prctl.h", "asm/ptrace.h", "asm/resource.h", "asm/siginfo.h", "asm/signal.h", "asm/socket.h",
    "asm/sockios.h",
    "linux/audit.h", "linux/bpf.h", "linux/capability.h", "linux/close_range.h", "linux/eventfd.h",
    "linux/eventpoll.h", "linux/falloc.h", "linux/fanotify.h", "linux/fcntl.h", "linux/fs.h", "linux/futex.h",
    "linux/if_alg.h", "linux/if_tun.h", "linux/in.h", "linux/in6.h", "linux/inotify.h", "linux/io_uring.h",
    "linux/ioprio.h", "linux/ipc.h", "linux/kcmp.h", "linux/kd.h", "linux/kexec.h", "linux/keyctl.h",
    "linux/landlock.h", "linux/loop.h", "linux/membarrier.h", "linux/memfd.h", "linux/mempolicy.h", "linux/mman.h",
    "linux/module.h", "linux/mount.h", "linux/msg.h", "linux/net.h", "linux/netlink.h", "linux/nsfs.h",
    "linux/openat2.h", "linux/perf_event.h", "linux/personality.h", "linux/pidfd.h", "linux/poll.h", "linux/prctl.h",
    "linux/ptrace.h", "linux/quota.h", "linux/random.h", "linux/reboot.h", "linux/resource.h", "linux/rseq.h",
    "linux/sched.h", "linux/seccomp.h", "linux/sem.h", "linux/shm.h", "linux/signal.h", "linux/signalfd.h",
    "linux/sockios.h", "linux/stat.h", "linux/tcp.h", "linux/time.h", "linux/timerfd.h", "linux/timex.h",
    "linux/udp.h", "linux/uio.h", "linux/userfaultfd.h", "linux/vt.h", "linux/wait.h", "linux/xattr.h",
];

/// Starts of the names that are selected.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "ADJ_", "AF_", "ALG_SET_", "ARCH_", "AT_", "AUDIT_ARCH_", "BLK", "CAP_", "CLOCK_", "CLONE_", "CLOSE_RANGE_",
    "EFD_", "EPOLL", "F_", "FALLOC_FL_", "FAN_", "FD_", "FIBMAP", "FICLONE", "FIFREEZE", "FIGETBSZ", "FIO",
    "FITHAW", "FITRIM", "FIDEDUPERANGE", "FS_IOC_", "FSCONFIG_", "FSMOUNT_", "FSOPEN_", "FSPICK_", "FUTEX", "GRND_",
    "IN_", "IORING_ENTER_", "IORING_REGISTER_", "IORING_SETUP_", "IORING_UNREGISTER_", "IOPRIO_", "IP_", "IPC_",
    "IPPROTO_", "IPV6_", "ITIMER_", "KCMP_", "KD", "KEXEC_", "KEYCTL_", "KEY_", "LANDLOCK_", "LINUX_REBOOT_",
    "LOCK_", "LOOP_", "MADV_", "MAP_", "MCL_", "MEMBARRIER_", "MFD_", "MLOCK_", "MNT_", "MODULE_INIT_",
    "MOUNT_ATTR_", "MOVE_MOUNT_", "MPOL_", "MREMAP_", "MSG_", "MS_", "NETLINK_", "NS_GET_", "OPEN_TREE_", "O_",
    "PERF_EVENT_IOC_", "PERF_FLAG_", "PER_", "PF_", "PIDFD_", "PKEY_", "POLL", "PRIO_", "PROT_", "PR_", "PTRACE_",
    "Q_", "RENAME_", "RESOLVE_", "RLIMIT_", "RND", "RSEQ_FLAG_", "RUSAGE_", "RWF_", "SA_", "SCHED_", "SECCOMP_",
    "SEEK_", "SEM_", "SFD_", "SHM_", "SHUT_", "SIG", "SIOC", "SOCK_", "SOL_", "SO_", "SPLICE_F_", "SS_", "STATX_",
    "SWAP_FLAG_", "SYNC_FILE_RANGE_", "SYSLOG_ACTION_", "SYS_", "S_I", "TC", "TFD_", "TIMER_", "TIOC", "TUN",
    "UDP_", "UFFD", "UMOUNT_", "VT_", "XATTR_",
];

/// Selected names without a common start.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    // personality(2)
    "ADDR_COMPAT_LAYOUT", "ADDR_LIMIT_32BIT", "ADDR_LIMIT_3GB", "ADDR_NO_RANDOMIZE", "FDPIC_FUNCPTRS",
    "MMAP_PAGE_ZERO", "READ_IMPLIES_EXEC", "SHORT_INODE", "STICKY_TIMEOUTS", "UNAME26", "WHOLE_SECONDS",
    // semctl(2)
    "GETALL", "GETNCNT", "GETPID", "GETVAL", "GETZCNT", "SETALL", "SETVAL",
    // wait4(2), waitid(2)
    "P_ALL", "P_PGID", "P_PID", "P_PIDFD", "WCONTINUED", "WEXITED", "WNOHANG", "WNOWAIT", "WSTOPPED", "WUNTRACED",
    "__WALL", "__WCLONE", "__WNOTHREAD",
];

/// Enumerations that are selected as a whole, by tag.
pub(super) const ENUMS: &[&str] = &["bpf_cmd"];

/// Names that would be selected, but have no value that a program passes to the kernel: ends of enumerations, masks and
/// shifts of fields, sizes, and values for the kernel's own use. `*` stands for any end.
#[rustfmt::skip]
const EXCLUDED: &[&str] = &[
    "BLK_*", "CAP_LAST_CAP", "CAP_TO_*", "CAP_VALID", "F_GETOWNER_*", "IN_CLASS*", "IN_EXPERIMENTAL", "IN_LOOPBACK*",
    "IN_MULTICAST*", "IN_BADCLASS*", "IP_DEFAULT_*", "KEY_MAX", "MAP_HUGE_*", "MFD_HUGE_*", "MSG_CMSG_COMPAT",
    "MSG_INTERNAL*", "MSG_SENDPAGE_*", "PER_MASK", "PF_R", "PF_W", "PF_X", "PRIO_MAX", "PRIO_MIN", "SHM_HUGE_*",
    "SHM_R", "SHM_W", "SIOCPROTOPRIVATE", "SIOCDEVPRIVATE", "SOCK_COREDUMP*", "SOCK_MAX", "SOCK_TYPE_MASK",
    "SWAP_FLAG_PRIO_*", "TCA*", "TCPF*", "TCPI*", "TCP_ACCECN_*", "TCP_AO_MAXKEYLEN", "TCP_BPF_*", "TCP_CA_*",
    "TCP_DATA_OFFSET", "TCP_ENCAP_*", "TCP_FLAG_*", "TCP_MD5SIG_MAXKEYLEN", "TCP_MSS_*", "TCP_NLA_*", "TCP_QUEUES_NR",
    "TCP_RESERVED_BITS", "UDP_ENCAP_*", "VT_MAX_EVENT",
    // The C libraries reserve the first signals in real time, so their value is another one.
    "SIGRTMAX", "SIGRTMIN",
];

/// Whether a name of the headers becomes a constant.
pub(super) fn is_selected(name: &str) -> bool {
    let is_word = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if !is_word || EXCLUDED.iter().any(|pattern| matches(pattern, name)) {
        return NAMES.contains(&name);
    }
    // The names of errors have no underscore.
    let is_error = name.starts_with('E') && !name.contains('_');
    is_error || NAMES.contains(&name) || PREFIXES.iter().any(|start| name.starts_with(start))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_pass_to_the_kernel_is_selected() {
        for name in [
            "AF_ALG",
            "EPERM",
            "SIGKILL",
            "TIOCSTI",
            "O_TMPFILE",
            "WNOHANG",
            "__WALL",
            "TCGETS",
            "TCP_NODELAY",
            "SHM_RDONLY",
            "PF_X25",
            "MSG_CMSG_CLOEXEC",
        ] {
            assert!(is_selected(name), "{name}");
        }
        for name in [
            "SIGRTMIN",
            "__AF_MAX",
            "EM_ARM",
            "_IOC",
            "af_alg",
            "X86_TRAP_DE",
            "SHM_R",
            "PF_X",
            "TCP_FLAG_ACK",
        ] {
            assert!(!is_selected(name), "{name}");
        }
    }
}
