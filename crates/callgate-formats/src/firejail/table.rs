//! What firejail knows: its groups of syscalls, the syscalls of its prebuilt filter for i386, and the commands of profiles.
//!
//! Facts of firejail 0.9.72 on x86-64: `src/lib/syscall.c`, `src/fseccomp/seccomp_secondary.c`, `src/include/syscall_*.h` and
//! `src/firejail/profile.c`.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;

/// The groups with their members, of which those with `@` are groups. Members that x86-64 lacks are left out, because firejail
/// leaves them out when it is built.
pub(super) const GROUPS: &[(&str, &str)] = &[
    (
        "@aio",
        "io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register io_uring_setup",
    ),
    (
        "@basic-io",
        "close close_range dup dup2 dup3 lseek pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readv write writev",
    ),
    ("@chown", "chown fchown fchownat lchown"),
    ("@clock", "adjtimex clock_adjtime clock_settime settimeofday"),
    ("@cpu-emulation", "modify_ldt"),
    ("@debug", "lookup_dcookie perf_event_open pidfd_getfd process_vm_writev"),
    (
        "@default",
        "@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap acct add_key bpf fanotify_init \
         io_cancel io_destroy io_getevents io_setup io_submit ioprio_set keyctl mbind migrate_pages move_pages \
         name_to_handle_at nfsservctl open_by_handle_at remap_file_pages request_key set_mempolicy setdomainname sethostname \
         syslog userfaultfd vhangup vmsplice",
    ),
    ("@default-keep", "execve execveat prctl"),
    ("@default-nodebuggers", "@default personality process_vm_readv ptrace"),
    (
        "@file-system",
        "access chdir chmod close close_range creat faccessat faccessat2 fallocate fchdir fchmod fchmodat fcntl fgetxattr \
         flistxattr fremovexattr fsetxattr fstat fstatfs ftruncate futimesat getcwd getdents getdents64 getxattr \
         inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lgetxattr link linkat listxattr llistxattr \
         lremovexattr lsetxattr lstat mkdir mkdirat mknod mknodat mmap munmap newfstatat open openat openat2 readlink \
         readlinkat removexattr rename renameat renameat2 rmdir setxattr stat statfs statx symlink symlinkat truncate \
         unlink unlinkat utime utimensat utimes",
    ),
    (
        "@io-event",
        "epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_wait epoll_wait_old eventfd eventfd2 poll \
         ppoll pselect6 select",
    ),
    (
        "@ipc",
        "memfd_create mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd \
         pipe pipe2 process_madvise process_vm_readv process_vm_writev semctl semget semop semtimedop shmat shmctl shmdt \
         shmget",
    ),
    ("@keyring", "add_key keyctl request_key"),
    ("@memlock", "mlock mlock2 mlockall munlock munlockall"),
    ("@module", "delete_module finit_module init_module"),
    (
        "@mount",
        "chroot fsconfig fsmount fsopen fspick mount move_mount open_tree pivot_root umount2",
    ),
    (
        "@network-io",
        "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg \
         sendto setsockopt shutdown socket socketpair",
    ),
    (
        "@obsolete",
        "_sysctl afs_syscall create_module get_kernel_syms getpmsg putpmsg query_module security sysfs tuxcall uselib ustat \
         vserver",
    ),
    (
        "@privileged",
        "@chown @clock @module @raw-io @reboot @swap _sysctl acct bpf capset chroot fanotify_init mount nfsservctl \
         open_by_handle_at pivot_root quotactl setdomainname setfsuid setgroups sethostname setresuid setreuid setuid \
         umount2 vhangup",
    ),
    (
        "@process",
        "arch_prctl capget clone clone3 execveat fork getrusage kill pidfd_open pidfd_send_signal prctl rt_sigqueueinfo \
         rt_tgsigqueueinfo setns tgkill times tkill unshare vfork wait4 waitid",
    ),
    ("@raw-io", "ioperm iopl"),
    ("@reboot", "kexec_file_load kexec_load reboot"),
    (
        "@resources",
        "ioprio_set mbind migrate_pages move_pages sched_setaffinity sched_setattr sched_setparam sched_setscheduler \
         set_mempolicy",
    ),
    ("@setuid", "setgid setgroups setregid setresgid setresuid setreuid setuid"),
    (
        "@signal",
        "rt_sigaction rt_sigpending rt_sigprocmask rt_sigsuspend rt_sigtimedwait sigaltstack signalfd signalfd4",
    ),
    ("@swap", "swapoff swapon"),
    ("@sync", "fdatasync fsync msync sync sync_file_range syncfs"),
    (
        "@system-service",
        "@aio @basic-io @chown @default @file-system @io-event @ipc @keyring @memlock @network-io @process @resources \
         @setuid @signal @sync @timer brk capget capset copy_file_range fadvise64 flock get_mempolicy getcpu getpriority \
         getrandom ioctl ioprio_get kcmp madvise mprotect mremap name_to_handle_at personality readahead remap_file_pages \
         sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler \
         sched_rr_get_interval sched_yield sendfile setfsgid setfsuid setpgid setsid splice sysinfo tee umask uname \
         userfaultfd vmsplice",
    ),
    (
        "@timer",
        "alarm getitimer setitimer timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create \
         timerfd_gettime timerfd_settime times",
    ),
];

/// The syscalls that firejail needs after it has installed its filters, and before the program runs.
pub(super) const KEPT: &str = "@default-keep";

/// The syscalls of i386 that are denied where the default list of x86-64 is.
pub(super) const SECONDARY: &str = "_sysctl acct add_key adjtimex chroot clock_adjtime create_module delete_module \
    fanotify_init finit_module get_kernel_syms init_module io_cancel io_destroy io_getevents io_setup io_submit ioperm iopl \
    ioprio_set kcmp kexec_load keyctl lookup_dcookie mbind migrate_pages modify_ldt mount move_pages name_to_handle_at \
    nfsservctl open_by_handle_at perf_event_open pivot_root process_vm_readv process_vm_writev ptrace reboot \
    remap_file_pages request_key set_mempolicy swapoff swapon sysfs syslog umount2 uselib vmsplice";

/// The last number of the syscalls that firejail knows by name: `process_madvise`.
const LAST_KNOWN: u32 = 440;

/// Whether firejail knows a number by name, on x86-64 and i386. It ignores names that it does not know, such as
/// `restart_syscall` on i386.
pub(super) fn is_known(arch: Arch, nr: u32) -> bool {
    let is_nameless = arch == Arch::X86 && nr == 0;
    nr <= LAST_KNOWN && !is_nameless && arch.syscall_name(nr).is_some()
}

/// The members of a group and of the groups in it, in the order of firejail's rules; `None` for an unknown group.
pub(super) fn members(group: &str) -> Option<Vec<&'static str>> {
    let find = |name: &str| GROUPS.iter().find(|(known, _)| *known == name);
    let mut found = Vec::new();
    let mut open: Vec<&'static str> = vec![find(group)?.1];
    // Groups do not contain themselves.
    while let Some(names) = open.pop() {
        for name in names.split_ascii_whitespace() {
            match find(name).filter(|_| name.starts_with('@')) {
                Some((_, inner)) => open.push(inner),
                None => found.push(name),
            }
        }
    }
    Some(found)
}

/// The numbers of syscalls that firejail knows on an architecture.
pub(super) fn numbers<'n>(names: impl IntoIterator<Item = &'n str>, arch: Arch) -> Vec<u32> {
    let numbers = names.into_iter().filter_map(|name| arch.number(name));
    numbers.filter(|nr| is_known(arch, *nr)).collect()
}

/// The socket families that `protocol` allows, with their numbers.
pub(super) const FAMILIES: [(&str, u64); 6] =
    [("unix", 1), ("inet", 2), ("inet6", 10), ("netlink", 16), ("packet", 17), ("bluetooth", 31)];

/// The namespaces of `restrict-namespaces`, with their flags.
pub(super) const NAMESPACES: [(&str, u64); 8] = [
    ("cgroup", 0x0200_0000),
    ("ipc", 0x0800_0000),
    ("net", 0x4000_0000),
    ("mnt", 0x0002_0000),
    ("pid", 0x2000_0000),
    ("time", CLONE_NEWTIME),
    ("user", 0x1000_0000),
    ("uts", 0x0400_0000),
];

/// The flag of a time namespace, which has another meaning for `clone`.
pub(super) const CLONE_NEWTIME: u64 = 0x80;

/// The commands about filters.
pub(super) const FILTER_COMMANDS: [&str; 13] = [
    "allow-debuggers",
    "memory-deny-write-execute",
    "protocol",
    "restrict-namespaces",
    "seccomp",
    "seccomp-error-action",
    "seccomp.32",
    "seccomp.32.drop",
    "seccomp.32.keep",
    "seccomp.block-secondary",
    "seccomp.drop",
    "seccomp.keep",
    "include",
];

/// All other commands, which say nothing about filters. Commands of other versions are among them.
pub(super) const OTHER_COMMANDS: &str = "allusers apparmor apparmor-replace apparmor-stack bind blacklist blacklist-nolog caps \
    caps.drop caps.keep cgroup cpu dbus-system dbus-system.broadcast dbus-system.call dbus-system.own dbus-system.see \
    dbus-system.talk dbus-user dbus-user.broadcast dbus-user.call dbus-user.own dbus-user.see dbus-user.talk defaultgw \
    deterministic-exit-code deterministic-shutdown disable-mnt dns env hostname hosts-file ignore ip ip6 ipc-namespace iprange \
    join-or-start keep-config-pulse keep-dev-shm keep-fd keep-shell-rc keep-var-tmp landlock.enforce landlock.fs.execute \
    landlock.fs.makedev landlock.fs.makeipc landlock.fs.read landlock.fs.write mac machine-id mkdir mkfile mtu name net netfilter \
    netfilter6 netlock netmask netns nice no3d noautopulse noblacklist nodbus nodvd noexec nogroups noinput nonewprivs \
    noprinters noroot nosound notpm notv nou2f novideo nowhitelist overlay overlay-named overlay-tmpfs private private-bin \
    private-cache private-cwd private-dev private-etc private-home private-lib private-opt private-srv private-tmp quiet \
    read-only read-write rlimit-as rlimit-cpu rlimit-fsize rlimit-nofile rlimit-nproc rlimit-sigpending rmenv shell tab timeout \
    tmpfs tracelog veth-name whitelist whitelist-ro writable-etc writable-run-user writable-var writable-var-log x11 \
    xephyr-screen";

/// Whether a word is a command of firejail.
pub(super) fn is_command(word: &str) -> bool {
    commands().any(|known| known == word)
}

/// All commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    FILTER_COMMANDS.into_iter().chain(OTHER_COMMANDS.split_ascii_whitespace())
}
