//! Syscalls that are dangerous to allow.
//!
//! The list is a judgement, not a proof. It contains syscalls through which a process leaves its sandbox, reads or
//! changes other processes, changes the machine, or reaches parts of the kernel that had many vulnerabilities. Most
//! also need a capability; a filter does not know whether the process will have it.

/// Why a syscall is dangerous to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The syscall.
    pub syscall: &'static str,
    /// The reason in one line, as a sentence without subject and full stop: "loads code into the kernel".
    pub reason: &'static str,
    /// Whether a condition on arguments can remove the danger. If so, it is dangerous where it is always allowed; if not,
    /// wherever it is allowed for some arguments.
    pub condition_helps: bool,
}

/// Why this syscall is dangerous to allow; `None` if it is not in [`DANGERS`].
pub fn danger(syscall: &str) -> Option<&'static Danger> {
    DANGERS.iter().find(|danger| danger.syscall == syscall)
}

/// Dangerous with any arguments.
const fn any(syscall: &'static str, reason: &'static str) -> Danger {
    Danger { syscall, reason, condition_helps: false }
}

/// Dangerous with some arguments only.
const fn some(syscall: &'static str, reason: &'static str) -> Danger {
    Danger { syscall, reason, condition_helps: true }
}

const OLD_X86: &str = "reaches rarely used code for x86 segments, which had many vulnerabilities";
const MOUNTS: &str = "changes mounts, and so what paths inside and outside of the sandbox refer to";
const CLOCK: &str =
    "sets the clock of the whole machine, which breaks certificates, logs and timeouts";
const KEYS: &str = "reaches the kernel's keyrings, which containers of the same user share";
const URING: &str =
    "opens, reads and sends through a ring in memory; no filter sees these operations";
const HARDWARE: &str = "accesses hardware directly";

/// All dangerous syscalls, sorted by name.
pub static DANGERS: &[Danger] = &[
    any("acct", "makes the kernel write a record of every process that ends to a file"),
    any("add_key", KEYS),
    any(
        "bpf",
        "loads programs into the kernel; errors of its verifier gave attackers the whole machine",
    ),
    any("chroot", "changes the root directory; a privileged process leaves a chroot with it"),
    any("clock_settime", CLOCK),
    any("clock_settime64", CLOCK),
    some(
        "clone",
        "creates user namespaces, in which code without privileges reaches more of the kernel",
    ),
    any("clone3", "creates namespaces; its flags are in memory, so no filter can deny only that"),
    any("create_module", "loads code into the kernel"),
    any("delete_module", "removes modules, also security modules and drivers, from the kernel"),
    any("fanotify_init", "watches file accesses of other processes, and can block them"),
    any("finit_module", "loads code into the kernel"),
    any("fsconfig", MOUNTS),
    any("fsmount", MOUNTS),
    any("fsopen", MOUNTS),
    any("fspick", MOUNTS),
    any("init_module", "loads code into the kernel"),
    any("io_uring_enter", URING),
    any("io_uring_register", URING),
    any("io_uring_setup", URING),
    some(
        "ioctl",
        "has thousands of commands; TIOCSTI types into the terminal outside of the sandbox",
    ),
    any("ioperm", HARDWARE),
    any("iopl", HARDWARE),
    any("kcmp", "reveals which kernel objects other processes use"),
    any("kexec_file_load", "replaces the running kernel"),
    any("kexec_load", "replaces the running kernel"),
    any("keyctl", KEYS),
    any("lookup_dcookie", "reveals paths of files that any process of the machine uses"),
    any("modify_ldt", OLD_X86),
    any("mount", MOUNTS),
    any("mount_setattr", MOUNTS),
    any("move_mount", MOUNTS),
    any(
        "open_by_handle_at",
        "opens files that no path of the sandbox reaches; containers were escaped with it",
    ),
    any("open_tree", MOUNTS),
    any("open_tree_attr", MOUNTS),
    any("pciconfig_iobase", HARDWARE),
    any("pciconfig_read", HARDWARE),
    any("pciconfig_write", HARDWARE),
    any(
        "perf_event_open",
        "measures other processes and the kernel, in code that had many vulnerabilities",
    ),
    some("personality", "disables the randomization of addresses and makes data executable"),
    any("pidfd_getfd", "takes open files and sockets from other processes"),
    any("pivot_root", MOUNTS),
    any("process_vm_readv", "reads the memory of other processes"),
    any("process_vm_writev", "writes to the memory of other processes"),
    any("ptrace", "controls other processes; before Linux 4.8 it also evaded filters"),
    any("quotactl", "changes disk quotas of other users"),
    any("quotactl_fd", "changes disk quotas of other users"),
    any("reboot", "stops or restarts the machine"),
    any("request_key", KEYS),
    any("rtas", HARDWARE),
    any("s390_pci_mmio_read", HARDWARE),
    any("s390_pci_mmio_write", HARDWARE),
    any("setns", "enters namespaces of other processes, and so leaves the own ones"),
    any("settimeofday", CLOCK),
    some("socket", "opens every address family, also those whose code is rarely tested"),
    any(
        "socketcall",
        "opens every address family; its arguments are in memory, where no filter sees them",
    ),
    any("stime", CLOCK),
    any("swapoff", "removes swap space of the whole machine"),
    any("swapon", "adds swap space to the machine, from which memory of all processes can be read"),
    some(
        "syslog",
        "reads and clears the kernel's log, which reveals addresses and activity of the machine",
    ),
    any("umount", MOUNTS),
    any("umount2", MOUNTS),
    some(
        "unshare",
        "creates user namespaces, in which code without privileges reaches more of the kernel",
    ),
    any("uselib", "loads a library without the checks of the dynamic linker; obsolete"),
    any(
        "userfaultfd",
        "suspends the kernel at a chosen page fault, which makes races in it exploitable",
    ),
    any("vm86", OLD_X86),
    any("vm86old", OLD_X86),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::known_name;

    #[test]
    fn dangers_are_sorted_syscalls_with_reasons_of_one_line() {
        assert!(DANGERS.is_sorted_by(|one, next| one.syscall < next.syscall));
        for danger in DANGERS {
            assert!(known_name(danger.syscall).is_some(), "{}", danger.syscall);
            assert!(
                (10..100).contains(&danger.reason.len()),
                "{}: {}",
                danger.syscall,
                danger.reason
            );
            assert!(!danger.reason.contains('\n') && !danger.reason.ends_with('.'));
        }
    }

    #[test]
    fn dangers_are_found_by_name() {
        assert!(danger("ptrace").is_some_and(|danger| !danger.condition_helps));
        assert!(danger("ioctl").is_some_and(|danger| danger.condition_helps));
        assert!(danger("read").is_none());
    }
}
