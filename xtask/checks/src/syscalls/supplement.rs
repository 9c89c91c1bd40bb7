//! Manually collected facts that the sources lack: versions of syscalls that are missing in the man page, arguments
//! of syscalls that x86-64 does not have, and an ABI that newer headers do not have.

use callgate_tasks::Result;

/// The numbers of 31-bit s390, which newer headers no longer have.
pub(super) fn s390() -> Result<Vec<(String, u32)>> {
    let lines = include_str!("s390.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let (number, name) = line.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    });
    rows.collect::<Option<_>>().ok_or_else(|| "s390.txt: a line is not NUMBER NAME".to_owned())
}

/// Versions of syscalls that have no row in syscalls(2).
///
/// The sources are the man pages of the syscalls if there are any (cachestat, futex_waitv, mount_setattr,
/// open_tree_attr, uretprobe), otherwise the release with the commit that added the syscall.
#[rustfmt::skip]
pub(super) const VERSIONS: &[(&str, &[&str])] = &[
    // According to a note in the page, they were introduced as pread and pwrite; the number is the same.
    ("2.2", &["pread64", "pwrite64"]),
    // Arm's name of sync_file_range2, which has a row.
    ("2.6.22", &["arm_sync_file_range"]),
    // Arm's order of the arguments of fadvise64_64.
    ("2.6", &["arm_fadvise64_64"]),
    // 64-bit times for 32-bit programs, all introduced in one series.
    ("5.1", &[
        "clock_adjtime64", "clock_getres_time64", "clock_gettime64", "clock_nanosleep_time64",
        "clock_settime64", "futex_time64", "io_pgetevents_time64", "mq_timedreceive_time64",
        "mq_timedsend_time64", "ppoll_time64", "pselect6_time64", "recvmmsg_time64",
        "rt_sigtimedwait_time64", "sched_rr_get_interval_time64", "semtimedop_time64",
        "timer_gettime64", "timer_settime64", "timerfd_gettime64", "timerfd_settime64",
        "utimensat_time64",
    ]),
    ("5.12", &["mount_setattr"]),
    ("5.15", &["process_mrelease"]),
    ("5.16", &["futex_waitv"]),
    ("5.17", &["set_mempolicy_home_node"]),
    ("6.4", &["riscv_hwprobe"]),
    ("6.5", &["cachestat"]),
    ("6.6", &["fchmodat2", "map_shadow_stack"]),
    ("6.7", &["futex_requeue", "futex_wait", "futex_wake"]),
    ("6.8", &["listmount", "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr",
        "statmount"]),
    ("6.10", &["mseal"]),
    ("6.11", &["uretprobe"]),
    ("6.13", &["getxattrat", "listxattrat", "removexattrat", "setxattrat"]),
    ("6.15", &["open_tree_attr"]),
    ("6.17", &["file_getattr", "file_setattr"]),
    ("6.18", &["uprobe"]),
    ("6.19", &["listns"]),
    ("7.0", &["rseq_slice_yield"]),
];

/// Wrong rows of syscalls(2), according to the syscalls' own pages: the syscall, the wrong and the right version.
pub(super) const CORRECTIONS: &[(&str, &str, &str)] = &[
    ("membarrier", "3.17", "4.3"),
    ("pkey_alloc", "4.8", "4.9"),
    ("pkey_free", "4.8", "4.9"),
    ("pkey_mprotect", "4.8", "4.9"),
];

/// Names that have numbers in headers, but were never implemented in a mainline kernel. The man page lists most of
/// them as reserved slots.
#[rustfmt::skip]
pub(super) const NEVER_IMPLEMENTED: &[&str] = &[
    "afs_syscall", "break", "cachectl", "epoll_ctl_old", "epoll_wait_old", "ftime", "getpmsg",
    "gtty", "idle", "lock", "mpx", "multiplexer", "prof", "profil", "putpmsg", "security", "stty",
    "timerfd", "tuxcall", "ulimit", "vserver",
];

/// Syscalls whose kernel function has another name: the name in the tables, the name of the function. The second
/// group are syscalls of 32-bit programs: 32-bit user IDs, and 64-bit times in the 64-bit layout.
#[rustfmt::skip]
pub(super) const SAME_FUNCTION: &[(&str, &str)] = &[
    ("fstat", "newfstat"), ("lstat", "newlstat"), ("stat", "newstat"), ("uname", "newuname"),
    ("sendfile", "sendfile64"), ("umount2", "umount"),

    ("_newselect", "select"), ("chown32", "chown"), ("clock_adjtime64", "clock_adjtime"),
    ("clock_getres_time64", "clock_getres"), ("clock_gettime64", "clock_gettime"),
    ("clock_nanosleep_time64", "clock_nanosleep"), ("clock_settime64", "clock_settime"),
    ("fchown32", "fchown"), ("fcntl64", "fcntl"), ("futex_time64", "futex"),
    ("getegid32", "getegid"), ("geteuid32", "geteuid"), ("getgid32", "getgid"),
    ("getgroups32", "getgroups"), ("getresgid32", "getresgid"), ("getresuid32", "getresuid"),
    ("getuid32", "getuid"), ("io_pgetevents_time64", "io_pgetevents"), ("lchown32", "lchown"),
    ("mq_timedreceive_time64", "mq_timedreceive"),
    ("mq_timedsend_time64", "mq_timedsend"), ("ppoll_time64", "ppoll"),
    ("pselect6_time64", "pselect6"), ("recvmmsg_time64", "recvmmsg"),
    ("rt_sigtimedwait_time64", "rt_sigtimedwait"),
    ("sched_rr_get_interval_time64", "sched_rr_get_interval"),
    ("semtimedop_time64", "semtimedop"), ("setfsgid32", "setfsgid"), ("setfsuid32", "setfsuid"),
    ("setgid32", "setgid"), ("setgroups32", "setgroups"), ("setregid32", "setregid"),
    ("setresgid32", "setresgid"), ("setresuid32", "setresuid"), ("setreuid32", "setreuid"),
    ("setuid32", "setuid"), ("timer_gettime64", "timer_gettime"),
    ("timer_settime64", "timer_settime"), ("timerfd_gettime64", "timerfd_gettime"),
    ("timerfd_settime64", "timerfd_settime"), ("ugetrlimit", "getrlimit"),
    ("utimensat_time64", "utimensat"),
];

/// Arguments of syscalls that may be missing in the trace events: syscalls of other architectures, of newer or older
/// kernels, and of optional parts of the kernel. Trace events take precedence. The name is that in the tables.
#[rustfmt::skip]
pub(super) const PROTOTYPES: &[&str] = &[
    // Modules, kexec, tracing, shadow stacks: optional on x86-64.
    "delete_module(const char *name_user, unsigned int flags)",
    "finit_module(int fd, const char *uargs, int flags)",
    "init_module(void *umod, unsigned long len, const char *uargs)",
    "kexec_file_load(int kernel_fd, int initrd_fd, unsigned long cmdline_len, const char *cmdline_ptr, unsigned long flags)",
    "kexec_load(unsigned long entry, unsigned long nr_segments, struct kexec_segment *segments, unsigned long flags)",
    "map_shadow_stack(unsigned long addr, unsigned long size, unsigned int flags)",
    // Newer.
    "listns(const struct ns_id_req *req, u64 *ns_ids, size_t nr_ns_ids, unsigned int flags)",
    "rseq_slice_yield()",
    // Older: lookup_dcookie until 6.7, uselib until 6.15, the others until 5.5, 3.0 and 2.5.
    "_sysctl(struct __sysctl_args *args)",
    "lookup_dcookie(u64 cookie64, char *buf, size_t len)",
    "nfsservctl(int cmd, struct nfsctl_arg *arg, void *res)",
    "uselib(const char *library)",
    // Thread-local storage of 32-bit x86.
    "get_thread_area(struct user_desc *u_info)",
    "set_thread_area(struct user_desc *u_info)",
    // Multiplexers of older architectures.
    "ipc(unsigned int call, int first, unsigned long second, unsigned long third, void *ptr, long fifth)",
    "socketcall(int call, unsigned long *args)",
    "recv(int fd, void *ubuf, size_t size, unsigned int flags)",
    "send(int fd, void *buff, size_t len, unsigned int flags)",
    // 32-bit programs: a 64-bit number in two arguments is listed as one argument.
    "_llseek(unsigned int fd, unsigned long offset_high, unsigned long offset_low, loff_t *result, unsigned int whence)",
    "arm_fadvise64_64(int fd, int advice, loff_t offset, loff_t len)",
    "fadvise64_64(int fd, loff_t offset, loff_t len, int advice)",
    "fstat64(unsigned long fd, struct stat64 *statbuf)",
    "fstatat64(int dfd, const char *filename, struct stat64 *statbuf, int flag)",
    "fstatfs64(unsigned int fd, size_t sz, struct statfs64 *buf)",
    "ftruncate64(unsigned int fd, loff_t length)",
    "mmap2(unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long pgoff)",
    "lstat64(const char *filename, struct stat64 *statbuf)",
    "stat64(const char *filename, struct stat64 *statbuf)",
    "statfs64(const char *path, size_t sz, struct statfs64 *buf)",
    "truncate64(const char *path, loff_t length)",
    "nice(int increment)",
    "sgetmask()",
    "ssetmask(int newmask)",
    "signal(int sig, void *handler)",
    "sigpending(unsigned long *uset)",
    "sigprocmask(int how, unsigned long *nset, unsigned long *oset)",
    "stime(const long *tptr)",
    "waitpid(pid_t pid, int *stat_addr, int options)",
    // Flags before the offset, on Arm and POWER.
    "arm_sync_file_range(int fd, unsigned int flags, loff_t offset, loff_t nbytes)",
    "sync_file_range2(int fd, unsigned int flags, loff_t offset, loff_t nbytes)",
    // POWER.
    "pciconfig_iobase(long which, unsigned long in_bus, unsigned long in_devfn)",
    "pciconfig_read(unsigned long bus, unsigned long dfn, unsigned long off, unsigned long len, void *buf)",
    "pciconfig_write(unsigned long bus, unsigned long dfn, unsigned long off, unsigned long len, void *buf)",
    "rtas(struct rtas_args *uargs)",
    "spu_create(const char *name, unsigned int flags, umode_t mode, int neighbor_fd)",
    "spu_run(int fd, u32 *unpc, u32 *ustatus)",
    "subpage_prot(unsigned long addr, unsigned long len, u32 *map)",
    "switch_endian()",
    // RISC-V.
    "riscv_flush_icache(uintptr_t start, uintptr_t end, uintptr_t flags)",
    "riscv_hwprobe(struct riscv_hwprobe *pairs, size_t pair_count, size_t cpusetsize, unsigned long *cpus, unsigned int flags)",
    // IBM Z.
    "s390_guarded_storage(int command, struct gs_cb *gs_cb)",
    "s390_pci_mmio_read(unsigned long mmio_addr, void *user_buffer, size_t length)",
    "s390_pci_mmio_write(unsigned long mmio_addr, const void *user_buffer, size_t length)",
    "s390_runtime_instr(int command, int signum)",
    "s390_sthyi(unsigned long function_code, void *buffer, u64 *return_code, unsigned long flags)",
];
