//! Which argument takes which constants: facts from the man pages of the syscalls, section 2, and ioctl_tty(2),
//! ioctl_fs(2) and ioctl_userfaultfd(2).
//!
//! An argument whose meaning depends on another one has no row: the protocol of a socket depends on its family, an
//! option on its level.

/// The constants that an argument takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members {
    /// The bits that hold one of the values, not flags: a constant or a hexadecimal number. `None`: all.
    pub(super) mask: Option<&'static str>,
    /// Constants of which the argument, or a part of it, has one: names, `START*`, and exceptions with `!`.
    pub(super) values: &'static str,
    /// Constants that are joined by `|`.
    pub(super) flags: &'static str,
    /// Whether a value is named before flags even if it is 0: `O_RDONLY|O_CREAT`.
    pub(super) names_zero: bool,
}

const fn values(values: &'static str) -> Members {
    Members { mask: None, values, flags: "", names_zero: false }
}

const fn flags(flags: &'static str) -> Members {
    Members { mask: Some("0x0"), values: "", flags, names_zero: false }
}

const fn both(
    values: &'static str,
    mask: &'static str,
    flags: &'static str,
    names_zero: bool,
) -> Members {
    Members { mask: Some(mask), values, flags, names_zero }
}

/// Signals, each by its usual name.
const SIGNALS: &str = "SIG* !SIG_* !SIGEV_* !SIGSTKSZ !SIGCLD !SIGIOT !SIGPOLL !SIGUNUSED !SIGSWI";

/// Requests of terminals, sockets, block devices, file systems and other files.
const REQUESTS: &str = "TIOC* TC* FIO* FICLONE FICLONERANGE FIDEDUPERANGE FIBMAP FIFREEZE FIGETBSZ FITHAW FITRIM \
    SIOC* BLK* KD* FS_IOC_* UFFDIO_API UFFDIO_CONTINUE UFFDIO_COPY UFFDIO_MOVE UFFDIO_POISON UFFDIO_REGISTER \
    UFFDIO_UNREGISTER UFFDIO_WAKE UFFDIO_WRITEPROTECT UFFDIO_ZEROPAGE LOOP_* NS_GET_* PERF_EVENT_IOC_* RND* TUN* \
    SECCOMP_IOCTL_* PIDFD_GET_* \
    !TIOCM_* !TIOCPKT_* !TIOCSER_* !TIOCINQ !TIOCOUTQ !TIOCSTOP !TCI* !TCO* !TCSADRAIN !TCSAFLUSH !TCSANOW !TCP_* \
    !TCX_* \
    !SIOCINQ !SIOCGSTAMP_* !SIOCGSTAMPNS_* !KD_* !LOOP_SET_STATUS_CLEARABLE_FLAGS !LOOP_SET_STATUS_SETTABLE_FLAGS \
    !TUN_*";

/// Syscalls, the name of an argument, its constants.
#[rustfmt::skip]
pub(super) static FAMILIES: &[(&str, &str, &Members)] = &[
    ("socket socketpair", "family", &values("AF_* !AF_LOCAL !AF_ROUTE !AF_MAX")),
    ("socket socketpair", "type", &both("SOCK_STREAM SOCK_DGRAM SOCK_RAW SOCK_RDM SOCK_SEQPACKET SOCK_DCCP SOCK_PACKET", "0xf", "SOCK_CLOEXEC SOCK_NONBLOCK", false)),
    ("accept4", "flags", &flags("SOCK_CLOEXEC SOCK_NONBLOCK")),
    ("clone", "clone_flags", &both(SIGNALS, "0xff", "CLONE_* !CLONE_ARGS_* !CLONE_NEWTIME", false)),
    ("unshare", "unshare_flags", &flags("CLONE_* !CLONE_ARGS_*")),
    ("setns", "flags", &flags("CLONE_* !CLONE_ARGS_*")),
    ("mmap mmap2 mprotect pkey_mprotect", "prot", &both("PROT_NONE", "0x0", "PROT_* !PROT_NONE", false)),
    ("mmap mmap2", "flags", &both("MAP_SHARED MAP_PRIVATE MAP_SHARED_VALIDATE MAP_DROPPABLE", "MAP_TYPE", "MAP_* !MAP_TYPE !MAP_FILE !MAP_SHARED !MAP_PRIVATE !MAP_SHARED_VALIDATE !MAP_DROPPABLE !MAP_RENAME !MAP_UNINITIALIZED", true)),
    ("mremap", "flags", &flags("MREMAP_*")),
    ("mlockall", "flags", &flags("MCL_*")),
    ("mlock2", "flags", &flags("MLOCK_*")),
    ("msync", "flags", &flags("MS_ASYNC MS_INVALIDATE MS_SYNC")),
    ("madvise process_madvise", "behavior", &values("MADV_*")),
    ("open openat open_by_handle_at", "flags", &both("O_RDONLY O_WRONLY O_RDWR", "O_ACCMODE", "O_* !O_ACCMODE !O_NDELAY !O_RDONLY !O_WRONLY !O_RDWR", true)),
    ("dup3 pipe2", "flags", &flags("O_CLOEXEC O_NONBLOCK O_DIRECT O_EXCL")),
    ("openat openat2 mkdirat mknodat fchownat newfstatat unlinkat fchmodat fchmodat2 faccessat faccessat2 statx mount_setattr open_tree fspick name_to_handle_at futimesat utimensat readlinkat", "dfd", &values("AT_FDCWD")),
    ("execveat", "fd", &values("AT_FDCWD")),
    ("unlinkat", "flag", &flags("AT_REMOVEDIR")),
    ("linkat", "flags", &flags("AT_EMPTY_PATH AT_SYMLINK_FOLLOW")),
    ("newfstatat", "flag", &flags("AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_SYMLINK_NOFOLLOW")),
    ("fchmodat2 execveat", "flags", &flags("AT_EMPTY_PATH AT_SYMLINK_NOFOLLOW")),
    ("faccessat2", "flags", &flags("AT_EACCESS AT_EMPTY_PATH AT_SYMLINK_NOFOLLOW")),
    ("statx", "flags", &flags("AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_SYMLINK_NOFOLLOW AT_STATX_FORCE_SYNC AT_STATX_DONT_SYNC")),
    ("fcntl fcntl64", "cmd", &values("F_* !F_OWNER_* !F_SEAL_* !F_LINUX_SPECIFIC_BASE !F_RDLCK !F_WRLCK !F_UNLCK !F_EXLCK !F_SHLCK !F_GETLK64 !F_SETLK64 !F_SETLKW64")),
    ("ioctl", "cmd", &values(REQUESTS)),
    ("prctl", "option", &values("PR_SET_* PR_GET_* PR_CAPBSET_DROP PR_CAPBSET_READ PR_CAP_AMBIENT PR_MCE_KILL PR_MCE_KILL_GET PR_MPX_DISABLE_MANAGEMENT PR_MPX_ENABLE_MANAGEMENT PR_PAC_GET_ENABLED_KEYS PR_PAC_RESET_KEYS PR_PAC_SET_ENABLED_KEYS PR_PPC_GET_DEXCR PR_PPC_SET_DEXCR PR_RISCV_SET_ICACHE_FLUSH_CTX PR_RISCV_V_GET_CONTROL PR_RISCV_V_SET_CONTROL PR_SCHED_CORE PR_SME_GET_VL PR_SME_SET_VL PR_SVE_GET_VL PR_SVE_SET_VL PR_TASK_PERF_EVENTS_DISABLE PR_TASK_PERF_EVENTS_ENABLE PR_FUTEX_HASH PR_LOCK_SHADOW_STACK_STATUS PR_TIMER_CREATE_RESTORE_IDS PR_RSEQ_SLICE_EXTENSION !PR_SET_MM_* !PR_SET_PTRACER_ANY !PR_SET_VMA_ANON_NAME")),
    ("arch_prctl", "option", &values("ARCH_* !ARCH_SHSTK_SHSTK !ARCH_SHSTK_WRSS !ARCH_XCOMP_*")),
    ("personality", "personality", &both("PER_LINUX PER_LINUX32 PER_BSD PER_HPUX PER_OSF4 PER_RISCOS", "0xff", "ADDR_* FDPIC_FUNCPTRS MMAP_PAGE_ZERO READ_IMPLIES_EXEC SHORT_INODE STICKY_TIMEOUTS UNAME26 WHOLE_SECONDS", false)),
    ("kill tgkill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal rt_sigaction", "sig", &values(SIGNALS)),
    ("rt_sigprocmask", "how", &values("SIG_BLOCK SIG_UNBLOCK SIG_SETMASK")),
    ("keyctl", "option", &values("KEYCTL_* !KEYCTL_CAPS0_* !KEYCTL_CAPS1_* !KEYCTL_SUPPORTS_* !KEYCTL_MOVE_EXCL")),
    ("bpf", "cmd", &values("BPF_* !BPF_PROG_RUN !BPF_COMMON_ATTRS")),
    ("ptrace", "request", &values("PTRACE_* !PTRACE_O_* !PTRACE_EVENT* !PTRACE_SYSCALL_INFO_* !PTRACE_PEEKSIGINFO_SHARED !PTRACE_CFI_* !PTRACE_PROT !PTRACE_GETFDPIC_*")),
    ("futex", "op", &both("FUTEX_WAIT FUTEX_WAKE FUTEX_FD FUTEX_REQUEUE FUTEX_CMP_REQUEUE FUTEX_WAKE_OP FUTEX_LOCK_PI FUTEX_UNLOCK_PI FUTEX_TRYLOCK_PI FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET FUTEX_WAIT_REQUEUE_PI FUTEX_CMP_REQUEUE_PI FUTEX_LOCK_PI2", "0x7f", "FUTEX_PRIVATE_FLAG FUTEX_CLOCK_REALTIME", true)),
    ("mount", "flags", &flags("MS_BIND MS_DIRSYNC MS_I_VERSION MS_LAZYTIME MS_MANDLOCK MS_MOVE MS_NOATIME MS_NODEV MS_NODIRATIME MS_NOEXEC MS_NOSUID MS_NOSYMFOLLOW MS_POSIXACL MS_PRIVATE MS_RDONLY MS_REC MS_RELATIME MS_REMOUNT MS_SHARED MS_SILENT MS_SLAVE MS_STRICTATIME MS_SYNCHRONOUS MS_UNBINDABLE")),
    ("umount2", "flags", &flags("MNT_FORCE MNT_DETACH MNT_EXPIRE UMOUNT_NOFOLLOW")),
    ("memfd_create", "flags", &flags("MFD_*")),
    ("eventfd2", "flags", &flags("EFD_*")),
    ("epoll_create1", "flags", &flags("EPOLL_CLOEXEC")),
    ("epoll_ctl", "op", &values("EPOLL_CTL_*")),
    ("timerfd_create", "clockid", &values("CLOCK_* !CLOCK_AUX !CLOCK_AUX_LAST")),
    ("clock_gettime clock_settime clock_getres clock_nanosleep clock_adjtime timer_create", "which_clock", &values("CLOCK_* !CLOCK_AUX !CLOCK_AUX_LAST")),
    ("timerfd_create", "flags", &flags("TFD_CLOEXEC TFD_NONBLOCK")),
    ("timerfd_settime", "flags", &flags("TFD_TIMER_*")),
    ("signalfd4", "flags", &flags("SFD_*")),
    ("inotify_init1", "flags", &flags("IN_CLOEXEC IN_NONBLOCK")),
    ("getrandom", "flags", &flags("GRND_*")),
    ("renameat2", "flags", &flags("RENAME_*")),
    ("seccomp", "op", &values("SECCOMP_SET_MODE_* SECCOMP_GET_*")),
    ("seccomp", "flags", &flags("SECCOMP_FILTER_FLAG_*")),
    ("sched_setscheduler", "policy", &both("SCHED_NORMAL SCHED_FIFO SCHED_RR SCHED_BATCH SCHED_IDLE SCHED_DEADLINE SCHED_EXT", "0xff", "SCHED_RESET_ON_FORK", true)),
    ("getrlimit setrlimit prlimit64", "resource", &values("RLIMIT_*")),
    ("getpriority setpriority", "which", &values("PRIO_*")),
    ("getrusage", "who", &values("RUSAGE_* !RUSAGE_BOTH")),
    ("setitimer getitimer", "which", &values("ITIMER_*")),
    ("lseek _llseek", "whence", &values("SEEK_* !SEEK_MAX")),
    ("flock", "cmd", &both("LOCK_SH LOCK_EX LOCK_UN", "0xb", "LOCK_NB", false)),
    ("setsockopt getsockopt", "level", &values("SOL_*")),
    ("sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg", "flags", &flags("MSG_CMSG_CLOEXEC MSG_CONFIRM MSG_CTRUNC MSG_DONTROUTE MSG_DONTWAIT MSG_EOR MSG_ERRQUEUE MSG_FASTOPEN MSG_MORE MSG_NOSIGNAL MSG_OOB MSG_PEEK MSG_TRUNC MSG_WAITALL MSG_WAITFORONE MSG_ZEROCOPY")),
    ("shutdown", "how", &values("SHUT_*")),
    ("shmctl", "cmd", &values("SHM_LOCK SHM_UNLOCK SHM_STAT SHM_STAT_ANY SHM_INFO IPC_INFO IPC_RMID IPC_SET IPC_STAT")),
    ("msgctl", "cmd", &values("MSG_STAT MSG_STAT_ANY MSG_INFO IPC_INFO IPC_RMID IPC_SET IPC_STAT")),
    ("semctl", "cmd", &values("GETALL GETNCNT GETPID GETVAL GETZCNT SETALL SETVAL SEM_STAT SEM_STAT_ANY SEM_INFO IPC_INFO IPC_RMID IPC_SET IPC_STAT")),
    ("kcmp", "type", &values("KCMP_* !KCMP_TYPES")),
    ("membarrier", "cmd", &values("MEMBARRIER_CMD_* !MEMBARRIER_CMD_FLAG_CPU !MEMBARRIER_CMD_SHARED")),
    ("reboot", "magic1", &values("LINUX_REBOOT_MAGIC1")),
    ("reboot", "magic2", &values("LINUX_REBOOT_MAGIC2*")),
    ("reboot", "cmd", &values("LINUX_REBOOT_CMD_*")),
    ("splice tee vmsplice", "flags", &flags("SPLICE_F_* !SPLICE_F_ALL")),
    ("sync_file_range", "flags", &flags("SYNC_FILE_RANGE_* !SYNC_FILE_RANGE_WRITE_AND_WAIT")),
    ("fallocate", "mode", &flags("FALLOC_FL_*")),
    ("preadv2 pwritev2", "flags", &flags("RWF_* !RWF_SUPPORTED")),
    ("perf_event_open", "flags", &flags("PERF_FLAG_*")),
    ("waitid", "which", &values("P_ALL P_PID P_PGID P_PIDFD")),
    ("waitid wait4", "options", &flags("WNOHANG WUNTRACED WEXITED WCONTINUED WNOWAIT __WALL __WCLONE __WNOTHREAD")),
    ("userfaultfd", "flags", &flags("UFFD_USER_MODE_ONLY O_CLOEXEC O_NONBLOCK")),
    ("landlock_create_ruleset", "flags", &flags("LANDLOCK_CREATE_RULESET_*")),
    ("landlock_add_rule", "rule_type", &values("LANDLOCK_RULE_*")),
    ("io_uring_register", "opcode", &values("IORING_REGISTER_* IORING_UNREGISTER_* !IORING_REGISTER_LAST !IORING_REGISTER_DST_REPLACE !IORING_REGISTER_SRC_REGISTERED !IORING_REGISTER_USE_REGISTERED_RING !IORING_REGISTER_FILES_SKIP")),
    ("io_uring_enter", "flags", &flags("IORING_ENTER_*")),
    ("mbind set_mempolicy", "mode", &both("MPOL_DEFAULT MPOL_PREFERRED MPOL_BIND MPOL_INTERLEAVE MPOL_LOCAL MPOL_PREFERRED_MANY MPOL_WEIGHTED_INTERLEAVE", "0xff", "MPOL_F_STATIC_NODES MPOL_F_RELATIVE_NODES MPOL_F_NUMA_BALANCING", true)),
    ("socketcall", "call", &values("SYS_* !SYS_SECCOMP !SYS_USER_DISPATCH")),
    ("close_range", "flags", &flags("CLOSE_RANGE_*")),
    ("pidfd_open", "flags", &flags("PIDFD_NONBLOCK PIDFD_THREAD")),
    ("open_tree", "flags", &flags("OPEN_TREE_* AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_RECURSIVE AT_SYMLINK_NOFOLLOW")),
    ("move_mount", "flags", &flags("MOVE_MOUNT_* !MOVE_MOUNT__MASK")),
    ("fsopen", "flags", &flags("FSOPEN_*")),
    ("fsconfig", "cmd", &values("FSCONFIG_*")),
    ("fsmount", "flags", &flags("FSMOUNT_*")),
    ("fsmount", "attr_flags", &flags("MOUNT_ATTR_* !MOUNT_ATTR_SIZE_* !MOUNT_ATTR__ATIME !MOUNT_ATTR_RELATIME")),
    ("fspick", "flags", &flags("FSPICK_*")),
    ("mount_setattr", "flags", &flags("AT_EMPTY_PATH AT_NO_AUTOMOUNT AT_RECURSIVE AT_SYMLINK_NOFOLLOW")),
    ("finit_module", "flags", &flags("MODULE_INIT_*")),
    ("kexec_file_load", "flags", &flags("KEXEC_FILE_*")),
    ("syslog", "type", &values("SYSLOG_ACTION_*")),
];
