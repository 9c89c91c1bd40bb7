//! Syscalls of which each architecture has some, for the same function of the C library: arm64 has no `mkdir`, and `mkdirat`
//! instead.
//!
//! Source: `sysdeps/unix/sysv/linux` of glibc and the tables of the kernel's architectures.

use callgate_core::Arch;

use super::of_arch::SyscallTable;

/// Each row has the syscall that programs use in the first place where an architecture has it.
const SIBLINGS: &[&[&str]] = &[
    &["fcntl", "fcntl64"],
    &["lseek", "_llseek"],
    &["mmap", "mmap2"],
    &["stat", "stat64", "newfstatat", "fstatat64"],
    &["lstat", "lstat64", "newfstatat", "fstatat64"],
    &["fstat", "fstat64"],
    &["newfstatat", "fstatat64"],
    &["statfs", "statfs64"],
    &["fstatfs", "fstatfs64"],
    &["truncate", "truncate64"],
    &["ftruncate", "ftruncate64"],
    &["sendfile", "sendfile64"],
    &["fadvise64", "fadvise64_64", "arm_fadvise64_64"],
    &["sync_file_range", "sync_file_range2", "arm_sync_file_range"],
    &["select", "_newselect", "pselect6"],
    &["poll", "ppoll"],
    &["epoll_wait", "epoll_pwait"],
    &["epoll_create", "epoll_create1"],
    &["eventfd", "eventfd2"],
    &["signalfd", "signalfd4"],
    &["inotify_init", "inotify_init1"],
    &["pipe", "pipe2"],
    &["dup2", "dup3"],
    &["open", "openat"],
    &["access", "faccessat"],
    &["mkdir", "mkdirat"],
    &["mknod", "mknodat"],
    &["rmdir", "unlinkat"],
    &["unlink", "unlinkat"],
    &["rename", "renameat", "renameat2"],
    &["link", "linkat"],
    &["symlink", "symlinkat"],
    &["readlink", "readlinkat"],
    &["chmod", "fchmodat"],
    &["chown", "chown32", "fchownat"],
    &["lchown", "lchown32", "fchownat"],
    &["fchown", "fchown32"],
    &["utime", "utimes", "futimesat", "utimensat"],
    &["getdents", "getdents64"],
    &["getrlimit", "ugetrlimit", "prlimit64"],
    &["setrlimit", "prlimit64"],
    &["getuid", "getuid32"],
    &["geteuid", "geteuid32"],
    &["getgid", "getgid32"],
    &["getegid", "getegid32"],
    &["setuid", "setuid32"],
    &["setgid", "setgid32"],
    &["setreuid", "setreuid32"],
    &["setregid", "setregid32"],
    &["setresuid", "setresuid32"],
    &["setresgid", "setresgid32"],
    &["getresuid", "getresuid32"],
    &["getresgid", "getresgid32"],
    &["getgroups", "getgroups32"],
    &["setgroups", "setgroups32"],
    &["setfsuid", "setfsuid32"],
    &["setfsgid", "setfsgid32"],
    &["waitpid", "wait4"],
    &["send", "sendto"],
    &["recv", "recvfrom"],
    &["accept", "accept4"],
    &["sigaction", "rt_sigaction"],
    &["sigprocmask", "rt_sigprocmask"],
    &["sigreturn", "rt_sigreturn"],
    &["sigsuspend", "rt_sigsuspend"],
    &["sigpending", "rt_sigpending"],
    &["umount", "umount2"],
    &["fork", "vfork", "clone"],
    &["alarm", "setitimer"],
    &["pause", "ppoll"],
    &["time", "gettimeofday", "clock_gettime"],
    &["nice", "setpriority"],
    &["clock_gettime", "clock_gettime64"],
    &["futex", "futex_time64"],
];

/// The families of syscalls to which a syscall belongs: each of their members serves the same function of the C library.
pub fn siblings(name: &str) -> impl Iterator<Item = &'static [&'static str]> {
    SIBLINGS.iter().copied().filter(move |family| family.contains(&name))
}

/// The syscall that programs use on an architecture that does not have this one.
///
/// ```
/// use callgate_bpf::syscalls::instead;
/// use callgate_core::Arch;
///
/// assert_eq!(instead(Arch::Aarch64, "mkdir"), Some("mkdirat"));
/// assert_eq!(instead(Arch::Arm, "fadvise64_64"), Some("arm_fadvise64_64"));
/// assert_eq!(instead(Arch::X86_64, "mkdir"), None, "it has it");
/// ```
pub fn instead(arch: Arch, name: &str) -> Option<&'static str> {
    if arch.number(name).is_some() {
        return None;
    }
    // The family of the syscall itself, else the one that says most about it: `fstatat64` is in that of `stat`, too.
    let mut families: Vec<&[&str]> = siblings(name).collect();
    families.sort_by_key(|family| (family.first() != Some(&name), family.len()));
    families.into_iter().flatten().copied().find(|sibling| arch.number(sibling).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::is_known_name;

    #[test]
    fn siblings_are_syscalls_and_each_is_missing_somewhere() {
        for family in SIBLINGS {
            assert!(
                family.len() > 1 && family.iter().all(|name| is_known_name(name)),
                "{family:?}"
            );
            let is_missing = |arch: &Arch| family.iter().any(|name| arch.number(name).is_none());
            assert!(Arch::ALL.iter().any(is_missing), "{family:?}");
        }
    }

    #[test]
    fn another_syscall_is_used_where_one_is_missing() {
        for (arch, name, other) in [
            (Arch::Aarch64, "open", Some("openat")),
            (Arch::Aarch64, "fork", Some("clone")),
            (Arch::Aarch64, "stat", Some("newfstatat")),
            (Arch::Riscv64, "rename", Some("renameat2")),
            (Arch::X86, "newfstatat", Some("fstatat64")),
            (Arch::Arm, "newfstatat", Some("fstatat64")),
            (Arch::Ppc, "newfstatat", Some("fstatat64")),
            (Arch::Mips, "newfstatat", Some("fstatat64")),
            (Arch::X86_64, "fstatat64", Some("newfstatat")),
            (Arch::Aarch64, "fstatat64", Some("newfstatat")),
            (Arch::X86_64, "stat64", Some("stat")),
            (Arch::Aarch64, "lstat", Some("newfstatat")),
            (Arch::X86_64, "clock_gettime64", Some("clock_gettime")),
            (Arch::X86_64, "mmap2", Some("mmap")),
            (Arch::X86_64, "socketcall", None),
            (Arch::Aarch64, "nonsense", None),
        ] {
            assert_eq!(instead(arch, name), other, "{arch} {name}");
        }
    }
}
