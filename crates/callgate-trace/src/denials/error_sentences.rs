//! Sentences of well-known programs about a syscall that failed, and which one it is.
//!
//! Sources: `mount.c`, `unshare.c`, `nsenter.c`, `hwclock.c`, `dmesg.c`, `renice.c`, `taskset.c`, `prlimit.c` of util-linux, `bubblewrap.c`, `date.c`, `chroot.c`,
//! `nice.c` of coreutils, `insmod.c`, `modprobe.c`, `rmmod.c` of kmod, `su-common.c`, `linux_ptrace_init_warnings` and
//! `maybe_disable_address_space_randomization` in gdb, `perf` of the kernel's tools, liburing's examples, `newosproc` of Go's
//! runtime, `gfile.c` of GLib, `libbpf.c`.

use super::error_text::Errno;

/// A program's message: how it begins, what it has, the syscall that failed, and its error if the message has another text.
pub(super) struct Sentence {
    program: &'static str,
    has: &'static str,
    pub(super) syscall: &'static str,
    pub(super) errno: Option<Errno>,
}

const fn sentence(program: &'static str, has: &'static str, syscall: &'static str) -> Sentence {
    Sentence { program, has, syscall, errno: None }
}

const SENTENCES: [Sentence; 27] = [
    sentence("bwrap", "Can't bind mount ", "mount"),
    sentence("bwrap", "Can't mount ", "mount"),
    sentence("bwrap", "Creating new namespace failed", "clone"),
    sentence("bwrap", NO_NAMESPACE, "clone"),
    sentence("bwrap", "Failed to make / slave", "mount"),
    sentence("chroot", "cannot change root directory", "chroot"),
    sentence("date", "cannot set date", "clock_settime"),
    sentence("dmesg", "read kernel buffer failed", "syslog"),
    sentence("insmod", "could not insert", "finit_module"),
    sentence("modprobe", "could not insert", "finit_module"),
    sentence("mount", "mounting ", "mount"),
    sentence("nice", "cannot set niceness", "setpriority"),
    sentence("prlimit", "failed to set the", "prlimit64"),
    sentence("renice", "failed to set priority", "setpriority"),
    sentence("rmmod", "could not remove", "delete_module"),
    sentence("stat", "cannot statx", "statx"),
    sentence("su", "cannot set groups", "setgroups"),
    sentence("taskset", "failed to set pid", "sched_setaffinity"),
    sentence("unshare", "cannot change root filesystem propagation", "mount"),
    // For EPERM, mount says this.
    Sentence { errno: Some(Errno::Perm), ..sentence("mount", "permission denied", "mount") },
    sentence("nsenter", "reassociate to namespace", "setns"),
    sentence("strace", "ptrace(", "ptrace"),
    sentence("strace", "PTRACE_", "ptrace"),
    sentence("umount", ": ", "umount2"),
    sentence("unshare", "mount ", "mount"),
    sentence("warning", "Error disabling address space randomization", "personality"),
    sentence("warning", "ptrace", "ptrace"),
];

/// What bubblewrap says instead of the error if `clone` fails with EPERM.
pub(super) const NO_NAMESPACE: &str = "No permissions to creat";

/// What programs say in any place of a message, and the syscall that failed: those that use io_uring, GLib (`gspawn.c`, `gfile.c`), Chromium
/// (`sandbox.c`), crun (`linux.c`), podman (`rootless_linux.c`), runc (`rootfs_linux.go`), systemd (`mount-util.c`), libbpf.
pub(super) const PHRASES: [(&str, &str); 17] = [
    ("create io_uring", "io_uring_setup"),
    ("init linux io_uring", "io_uring_setup"),
    ("initializing io_uring", "io_uring_setup"),
    ("initialize io_uring", "io_uring_setup"),
    ("setup io_uring", "io_uring_setup"),
    ("io_uring_queue_init", "io_uring_setup"),
    ("Failed to close file descriptor for child process", "close_range"),
    ("Error splicing file", "splice"),
    ("Failed to move to new namespace", "clone"),
    ("create keyring `", "keyctl"),
    ("create NETLINK socket", "socket"),
    ("mounting \"", "mount"),
    ("mount `", "mount"),
    ("ailed to mount ", "mount"),
    ("Can't mount ", "mount"),
    ("Can't bind mount ", "mount"),
    ("bpf_object__probe_loading", "bpf"),
];

/// The sentence of a program that a line has.
pub(super) fn of_program(program: &str, line: &str) -> Option<&'static Sentence> {
    SENTENCES.iter().find(|one| one.program == program && line.contains(one.has))
}
