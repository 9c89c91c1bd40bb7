//! The groups of syscalls that people know, and the syscalls of each.
//!
//! A name belongs to the purpose that people would look for first: `mq_open` opens a descriptor, but for message queues.
//! A syscall that changes the whole machine belongs to its administration, whatever it changes (`settimeofday`).

/// What a syscall is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Files by name, and their attributes.
    Files,
    /// Data and events of open descriptors.
    InputOutput,
    /// Sockets.
    Network,
    /// Processes, threads and programs.
    Processes,
    /// Priorities, processors and limits.
    Scheduling,
    /// Address spaces.
    Memory,
    /// Signals.
    Signals,
    /// Clocks, timers and pauses.
    Time,
    /// Message queues, semaphores and shared memory.
    Ipc,
    /// Users, groups, capabilities and keys.
    Credentials,
    /// Filters and rules that a process imposes on itself.
    Sandboxing,
    /// Mounts, roots and namespaces.
    Mounts,
    /// Other processes, and profiling.
    Observation,
    /// The kernel and the whole machine.
    Administration,
    /// Facts about the system, and random numbers.
    Information,
    /// What only some processors have.
    Processor,
    /// Names without an implementation in Linux.
    Unused,
}

impl Purpose {
    /// All groups, in the order in which people should read them.
    pub const ALL: [Purpose; 17] = [
        Purpose::Files,
        Purpose::InputOutput,
        Purpose::Network,
        Purpose::Processes,
        Purpose::Scheduling,
        Purpose::Memory,
        Purpose::Signals,
        Purpose::Time,
        Purpose::Ipc,
        Purpose::Credentials,
        Purpose::Sandboxing,
        Purpose::Mounts,
        Purpose::Observation,
        Purpose::Administration,
        Purpose::Information,
        Purpose::Processor,
        Purpose::Unused,
    ];

    /// Identifier, title and description.
    fn texts(self) -> [&'static str; 3] {
        match self {
            Purpose::Files => [
                "files",
                "Files and directories",
                "open, create, rename and delete files, and change their permissions and attributes",
            ],
            Purpose::InputOutput => [
                "input-output",
                "Input and output",
                "read and write open descriptors, and wait for events on them",
            ],
            Purpose::Network => [
                "network",
                "Network",
                "create sockets, connect, accept connections, send and receive",
            ],
            Purpose::Processes => [
                "processes",
                "Processes and threads",
                "start processes and threads, execute programs, wait and exit",
            ],
            Purpose::Scheduling => [
                "scheduling",
                "Scheduling and limits",
                "choose priorities and processors, and set resource limits",
            ],
            Purpose::Memory => {
                ["memory", "Memory", "map, protect, lock and release memory of its address space"]
            }
            Purpose::Signals => ["signals", "Signals", "send, handle, block and wait for signals"],
            Purpose::Time => ["time", "Clocks and timers", "read clocks, sleep and set timers"],
            Purpose::Ipc => [
                "ipc",
                "Communication between processes",
                "use message queues, semaphores and shared memory with other processes",
            ],
            Purpose::Credentials => [
                "credentials",
                "Users, credentials and keys",
                "read and change users, groups and capabilities, and use the kernel's keyrings",
            ],
            Purpose::Sandboxing => [
                "sandboxing",
                "Sandboxing",
                "restrict itself further, with seccomp, Landlock and security modules",
            ],
            Purpose::Mounts => [
                "mounts",
                "Mounts and namespaces",
                "mount and unmount file systems, change the root, and enter namespaces",
            ],
            Purpose::Observation => [
                "observation",
                "Observation of other processes",
                "trace, compare and profile processes, and access their memory",
            ],
            Purpose::Administration => [
                "administration",
                "Kernel administration",
                "load code into the kernel, reboot, and change the clock, swap space and other \
                 settings of the machine",
            ],
            Purpose::Information => [
                "information",
                "System information",
                "ask for facts about the system, and for random numbers",
            ],
            Purpose::Processor => {
                ["processor", "Processor-specific", "use features that only some processors have"]
            }
            Purpose::Unused => {
                ["unused", "Never implemented", "call numbers that no mainline kernel implements"]
            }
        }
    }

    /// A word for machines: lower-case letters and hyphens. It does not change with the title.
    pub fn id(self) -> &'static str {
        self.texts()[0]
    }

    /// A heading.
    pub fn title(self) -> &'static str {
        self.texts()[1]
    }

    /// What a process can do with these syscalls, as a phrase that follows "It can".
    pub fn description(self) -> &'static str {
        self.texts()[2]
    }
}

/// All names of the tables, grouped.
#[rustfmt::skip]
static MEMBERS: &[(Purpose, &[&str])] = &[
    (Purpose::Files, &[
        // names
        "open", "openat", "openat2", "open_by_handle_at", "name_to_handle_at", "creat", "link", "linkat", "unlink",
        "unlinkat", "symlink", "symlinkat", "readlink", "readlinkat", "rename", "renameat", "renameat2", "mkdir",
        "mkdirat", "rmdir", "mknod", "mknodat", "chdir", "fchdir", "getcwd", "getdents", "getdents64", "readdir", "umask",
        // attributes
        "stat", "stat64", "fstat", "fstat64", "fstatat64", "lstat", "lstat64", "newfstatat", "oldstat", "oldfstat",
        "oldlstat", "statx", "access", "faccessat", "faccessat2", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown",
        "chown32", "fchown", "fchown32", "fchownat", "lchown", "lchown32", "utime", "utimes", "futimesat", "utimensat",
        "utimensat_time64", "file_getattr", "file_setattr", "getxattr", "getxattrat", "fgetxattr", "lgetxattr",
        "setxattr", "setxattrat", "fsetxattr", "lsetxattr", "listxattr", "listxattrat", "flistxattr", "llistxattr",
        "removexattr", "removexattrat", "fremovexattr", "lremovexattr",
        // sizes, locks and storage
        "truncate", "truncate64", "ftruncate", "ftruncate64", "fallocate", "flock", "sync", "syncfs", "fsync",
        "fdatasync", "sync_file_range", "sync_file_range2", "arm_sync_file_range", "fadvise64", "fadvise64_64",
        "arm_fadvise64_64", "readahead", "cachestat", "statfs", "statfs64", "fstatfs", "fstatfs64", "ustat",
        // changes
        "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "fanotify_init", "fanotify_mark",
    ]),
    (Purpose::InputOutput, &[
        "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek",
        "_llseek", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "ioctl", "pipe", "pipe2", "splice",
        "tee", "vmsplice", "sendfile", "sendfile64", "copy_file_range",
        "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64", "epoll_create",
        "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait", "epoll_wait_old", "epoll_pwait", "epoll_pwait2",
        "eventfd", "eventfd2",
        "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
        "io_uring_setup", "io_uring_enter", "io_uring_register",
    ]),
    (Purpose::Network, &[
        "socket", "socketpair", "socketcall", "bind", "listen", "accept", "accept4", "connect", "shutdown", "send",
        "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "getsockname",
        "getpeername", "getsockopt", "setsockopt",
    ]),
    (Purpose::Processes, &[
        "fork", "vfork", "clone", "clone3", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "waitpid",
        "prctl", "personality", "getpid", "getppid", "gettid", "getpgid", "setpgid", "getpgrp", "getsid", "setsid",
        "pidfd_open", "set_tid_address", "rseq", "rseq_slice_yield",
        "futex", "futex_time64", "futex_wait", "futex_waitv", "futex_wake", "futex_requeue", "get_robust_list",
        "set_robust_list", "membarrier",
    ]),
    (Purpose::Scheduling, &[
        "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getattr", "sched_setattr", "sched_getparam",
        "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min",
        "sched_rr_get_interval", "sched_rr_get_interval_time64", "nice", "getpriority", "setpriority", "ioprio_get",
        "ioprio_set", "getrlimit", "ugetrlimit", "setrlimit", "prlimit64", "getrusage", "times", "getcpu",
    ]),
    (Purpose::Memory, &[
        "brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2",
        "mlockall", "munlock", "munlockall", "mseal", "remap_file_pages", "memfd_create", "memfd_secret", "pkey_alloc",
        "pkey_free", "pkey_mprotect", "map_shadow_stack", "userfaultfd", "getpagesize", "get_mempolicy", "set_mempolicy",
        "set_mempolicy_home_node", "mbind", "migrate_pages", "move_pages",
    ]),
    (Purpose::Signals, &[
        "kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "signal", "sigaction",
        "rt_sigaction", "sigprocmask", "rt_sigprocmask", "sigpending", "rt_sigpending", "sigsuspend", "rt_sigsuspend",
        "rt_sigtimedwait", "rt_sigtimedwait_time64", "sigreturn", "rt_sigreturn", "sigaltstack", "signalfd", "signalfd4",
        "sgetmask", "ssetmask", "pause", "restart_syscall",
    ]),
    (Purpose::Time, &[
        "time", "ftime", "gettimeofday", "clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64",
        "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "alarm", "getitimer", "setitimer", "timer_create",
        "timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64",
        "timerfd", "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime", "timerfd_settime64",
    ]),
    (Purpose::Ipc, &[
        "ipc", "msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "semtimedop_time64",
        "shmat", "shmctl", "shmdt", "shmget", "mq_open", "mq_unlink", "mq_getsetattr", "mq_notify", "mq_timedreceive",
        "mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64",
    ]),
    (Purpose::Credentials, &[
        "getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid", "getegid32", "getresuid",
        "getresuid32", "getresgid", "getresgid32", "getgroups", "getgroups32", "setuid", "setuid32", "setgid", "setgid32",
        "setreuid", "setreuid32", "setregid", "setregid32", "setresuid", "setresuid32", "setresgid", "setresgid32",
        "setfsuid", "setfsuid32", "setfsgid", "setfsgid32", "setgroups", "setgroups32", "capget", "capset", "add_key",
        "request_key", "keyctl",
    ]),
    (Purpose::Sandboxing, &[
        "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "lsm_get_self_attr",
        "lsm_set_self_attr", "lsm_list_modules",
    ]),
    (Purpose::Mounts, &[
        "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
        "open_tree", "open_tree_attr", "mount_setattr", "statmount", "listmount", "listns", "unshare", "setns",
    ]),
    (Purpose::Observation, &[
        "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp",
        "perf_event_open", "lookup_dcookie", "profil", "uprobe", "uretprobe",
    ]),
    (Purpose::Administration, &[
        "init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms", "kexec_load",
        "kexec_file_load", "bpf", "reboot", "syslog", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "vhangup",
        "sethostname", "setdomainname", "settimeofday", "stime", "adjtimex", "clock_settime", "clock_settime64",
        "clock_adjtime", "clock_adjtime64", "ioperm", "iopl", "pciconfig_iobase", "pciconfig_read", "pciconfig_write",
        "s390_pci_mmio_read", "s390_pci_mmio_write", "rtas", "nfsservctl", "bdflush", "_sysctl", "uselib",
    ]),
    (Purpose::Information, &[
        "uname", "olduname", "oldolduname", "sysinfo", "sysfs", "getrandom",
    ]),
    (Purpose::Processor, &[
        "arch_prctl", "modify_ldt", "set_thread_area", "get_thread_area", "set_tls", "get_tls", "vm86", "vm86old",
        "cacheflush", "cachectl", "breakpoint", "usr26", "usr32", "sysmips", "syscall", "atomic_barrier",
        "atomic_cmpxchg_32", "riscv_flush_icache", "riscv_hwprobe", "s390_guarded_storage", "s390_runtime_instr",
        "s390_sthyi", "spu_create", "spu_run", "subpage_prot", "swapcontext", "switch_endian", "sys_debug_setcontext",
        "multiplexer",
    ]),
    (Purpose::Unused, &[
        "afs_syscall", "break", "getpmsg", "gtty", "idle", "lock", "mpx", "prof", "putpmsg", "security", "stty",
        "tuxcall", "ulimit", "vserver",
    ]),
];

impl Purpose {
    /// The group of a syscall. `None` if this is not one of [`known_names`](callgate_bpf::syscalls::known_names).
    pub fn of(syscall: &str) -> Option<Purpose> {
        let mut groups = MEMBERS.iter();
        let (purpose, _) = groups.find(|(_, names)| names.contains(&syscall))?;
        Some(*purpose)
    }

    /// The syscalls of the group, on all architectures.
    pub fn members(self) -> impl Iterator<Item = &'static str> {
        let groups = MEMBERS.iter().filter(move |(purpose, _)| *purpose == self);
        groups.flat_map(|(_, names)| names.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use callgate_bpf::syscalls::known_names;

    use super::*;

    #[test]
    fn every_syscall_has_exactly_one_purpose() {
        let groups = |name: &str| {
            MEMBERS.iter().flat_map(|(_, names)| *names).filter(|member| **member == name).count()
        };
        let wrong: Vec<&str> = known_names().filter(|name| groups(name) != 1).collect();
        assert!(wrong.is_empty(), "syscalls with no group or several: {wrong:?}");
    }

    #[test]
    fn groups_contain_only_syscalls_of_the_tables() {
        let known: Vec<&str> = known_names().collect();
        let members = MEMBERS.iter().flat_map(|(_, names)| *names);
        let unknown: Vec<&&str> = members.filter(|name| !known.contains(name)).collect();
        assert!(unknown.is_empty(), "not in the tables: {unknown:?}");
    }

    #[test]
    fn every_group_is_listed_once_and_has_members() {
        for (place, purpose) in Purpose::ALL.into_iter().enumerate() {
            assert_eq!(purpose as usize, place, "{purpose:?}");
            assert!(purpose.members().next().is_some(), "{purpose:?}");
            assert!(!purpose.title().is_empty() && !purpose.description().is_empty());
            assert!(purpose.id().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        }
    }

    #[test]
    fn well_known_syscalls_are_where_people_look_for_them() {
        for (name, purpose) in [
            ("openat", Purpose::Files),
            ("write", Purpose::InputOutput),
            ("connect", Purpose::Network),
            ("execve", Purpose::Processes),
            ("mmap", Purpose::Memory),
            ("kill", Purpose::Signals),
            ("ptrace", Purpose::Observation),
            ("init_module", Purpose::Administration),
            ("setuid", Purpose::Credentials),
            ("unshare", Purpose::Mounts),
        ] {
            assert_eq!(Purpose::of(name), Some(purpose), "{name}");
        }
        assert_eq!(Purpose::of("frobnicate"), None);
    }
}
