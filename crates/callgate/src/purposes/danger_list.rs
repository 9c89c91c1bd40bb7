//! The dangerous syscalls: this list is what *dangerous* means in every command, page and profile.
//!
//! A syscall is dangerous if a process leaves its sandbox with it, reads or changes other processes, changes the machine, or reaches
//! parts of the kernel that had many vulnerabilities; of some, only calls with certain arguments are. The list is a judgement, not a
//! proof. Most also need a capability; a filter does not know whether the process will have it.

use Power::{AnyFile, KernelCode, KernelWork, OverProcesses, Races};
use Severity::{Critical, High, Moderate};

use callgate_core::Arch;

use super::danger::{Danger, DangerousValue, Power, Severity};

/// Why this syscall is dangerous to allow; `None` if it is not known to be.
pub fn danger(syscall: &str) -> Option<&'static Danger> {
    DANGERS.iter().find(|danger| danger.syscall == syscall)
}

/// Why a call with these arguments, as far as they are known, is dangerous, as the end of a sentence about it: "dangerous: loads code
/// into the kernel"; `None` if it is not.
pub fn danger_in_words(syscall: &str, args: &[Option<u64>; 6], arch: Arch) -> Option<String> {
    let danger = danger(syscall)?;
    let when = match danger.is_given(args, arch) {
        Some(false) => return None,
        Some(true) => "",
        None => " with some arguments",
    };
    Some(format!("dangerous{when}: {}", danger.reason))
}

/// The dangerous syscalls with this power, sorted by name.
#[cfg(feature = "sources")]
pub(crate) fn with_power(power: Power) -> impl Iterator<Item = &'static Danger> {
    DANGERS.iter().filter(move |danger| danger.power == Some(power))
}

/// Dangerous with any arguments.
const fn any(syscall: &'static str, severity: Severity, reason: &'static str) -> Danger {
    Danger { syscall, reason, severity, values: &[], power: None }
}

/// Dangerous with any arguments, so much that it makes the denial of other syscalls pointless.
const fn powerful(
    power: Power,
    syscall: &'static str,
    severity: Severity,
    reason: &'static str,
) -> Danger {
    Danger { power: Some(power), ..any(syscall, severity, reason) }
}

/// Dangerous with these values of an argument only.
const fn some(
    syscall: &'static str,
    values: &'static [DangerousValue],
    severity: Severity,
    reason: &'static str,
) -> Danger {
    Danger { syscall, reason, severity, values, power: None }
}

/// An argument that is this number.
const fn equal(arg: u8, number: u32) -> DangerousValue {
    DangerousValue { arg, mask: u32::MAX, bits: number }
}

/// A flag in the first argument.
const fn flag(bits: u32) -> DangerousValue {
    DangerousValue { arg: 0, mask: bits, bits }
}

/// The flags of new namespaces from CLONE_NEWNS to CLONE_NEWNET (`include/uapi/linux/sched.h`). CLONE_NEWTIME, 0x80, is one of
/// `unshare` only.
const CLONED: &[DangerousValue] = &[
    flag(0x0002_0000),
    flag(0x0200_0000),
    flag(0x0400_0000),
    flag(0x0800_0000),
    flag(0x1000_0000),
    flag(0x2000_0000),
    flag(0x4000_0000),
];
const UNSHARED: &[DangerousValue] = &[
    flag(0x0000_0080),
    flag(0x0002_0000),
    flag(0x0200_0000),
    flag(0x0400_0000),
    flag(0x0800_0000),
    flag(0x1000_0000),
    flag(0x2000_0000),
    flag(0x4000_0000),
];

/// TIOCSTI, with MIPS' number, and TIOCLINUX, which pastes the selection of a virtual console
/// (`include/uapi/asm-generic/ioctls.h`, `arch/mips/include/uapi/asm/ioctls.h`).
const TERMINAL: &[DangerousValue] = &[equal(1, 0x5412), equal(1, 0x5472), equal(1, 0x541c)];

/// ADDR_NO_RANDOMIZE and READ_IMPLIES_EXEC (`include/uapi/linux/personality.h`); bit 31 is set in the number that only
/// asks for the personality.
const LAYOUT: &[DangerousValue] = &[
    DangerousValue { arg: 0, mask: 0x8004_0000, bits: 0x0004_0000 },
    DangerousValue { arg: 0, mask: 0x8040_0000, bits: 0x0040_0000 },
];

/// The actions that read or clear the log (`include/linux/syslog.h`).
const LOG: &[DangerousValue] = &[equal(0, 2), equal(0, 3), equal(0, 4), equal(0, 5)];

/// Address families except AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK (`include/linux/socket.h`).
const RARE_FAMILIES: &[DangerousValue] = &{
    let mut families = [equal(0, 3); 41];
    let (mut family, mut index) = (3, 0);
    while family < 46 {
        if family != 10 && family != 16 {
            families[index] = equal(0, family);
            index += 1;
        }
        family += 1;
    }
    families
};

const NAMESPACES: &str =
    "creates namespaces, in which code without privileges reaches more of the kernel";
const OLD_X86: &str = "reaches rarely used code for x86 segments, which had many vulnerabilities";
const MOUNTS: &str = "changes mounts, and so what paths inside and outside of the sandbox refer to";
const CLOCK: &str =
    "sets the clock of the whole machine, which breaks certificates, logs and timeouts";
const KEYS: &str = "reaches the kernel's keyrings, which containers of the same user share";
const URING: &str =
    "opens, reads and sends through a ring in memory; no filter sees these operations";
const HARDWARE: &str = "accesses hardware directly";

/// All dangerous syscalls, sorted by name.
pub(super) static DANGERS: &[Danger] = &[
    any("acct", Moderate, "makes the kernel write a record of every process that ends to a file"),
    any("add_key", Moderate, KEYS),
    powerful(
        KernelWork,
        "bpf",
        Critical,
        "loads programs into the kernel; errors of its verifier gave attackers the whole machine",
    ),
    any("chroot", High, "changes the root directory; a privileged process leaves a chroot with it"),
    any("clock_settime", Moderate, CLOCK),
    any("clock_settime64", Moderate, CLOCK),
    some("clone", CLONED, High, NAMESPACES),
    any(
        "clone3",
        High,
        "creates namespaces; its flags are in memory, so no filter can deny only that",
    ),
    any("create_module", Critical, "loads code into the kernel"),
    any(
        "delete_module",
        Critical,
        "removes modules, also security modules and drivers, from the kernel",
    ),
    any("fanotify_init", High, "watches file accesses of other processes, and can block them"),
    powerful(KernelCode, "finit_module", Critical, "loads code into the kernel"),
    any("fsconfig", High, MOUNTS),
    any("fsmount", High, MOUNTS),
    any("fsopen", High, MOUNTS),
    any("fspick", High, MOUNTS),
    powerful(KernelCode, "init_module", Critical, "loads code into the kernel"),
    any("io_uring_enter", High, URING),
    any("io_uring_register", High, URING),
    any("io_uring_setup", High, URING),
    some(
        "ioctl",
        TERMINAL,
        High,
        "types into the terminal outside of the sandbox (TIOCSTI, TIOCLINUX)",
    ),
    any("ioperm", Critical, HARDWARE),
    any("iopl", Critical, HARDWARE),
    any("kcmp", Moderate, "reveals which kernel objects other processes use"),
    powerful(KernelCode, "kexec_file_load", Critical, "replaces the running kernel"),
    powerful(KernelCode, "kexec_load", Critical, "replaces the running kernel"),
    any("keyctl", Moderate, KEYS),
    any("lookup_dcookie", Moderate, "reveals paths of files that any process of the machine uses"),
    any("modify_ldt", Moderate, OLD_X86),
    any("mount", High, MOUNTS),
    any("mount_setattr", High, MOUNTS),
    any("move_mount", High, MOUNTS),
    powerful(
        AnyFile,
        "open_by_handle_at",
        High,
        "opens files that no path of the sandbox reaches; containers were escaped with it",
    ),
    any("open_tree", High, MOUNTS),
    any("open_tree_attr", High, MOUNTS),
    any("pciconfig_iobase", Critical, HARDWARE),
    any("pciconfig_read", Critical, HARDWARE),
    any("pciconfig_write", Critical, HARDWARE),
    powerful(
        KernelWork,
        "perf_event_open",
        Moderate,
        "measures other processes and the kernel, in code that had many vulnerabilities",
    ),
    some(
        "personality",
        LAYOUT,
        Moderate,
        "disables the randomization of addresses and makes data executable",
    ),
    powerful(
        OverProcesses,
        "pidfd_getfd",
        High,
        "takes open files and sockets from other processes",
    ),
    any("pivot_root", High, MOUNTS),
    any("process_vm_readv", High, "reads the memory of other processes"),
    powerful(OverProcesses, "process_vm_writev", High, "writes to the memory of other processes"),
    powerful(
        OverProcesses,
        "ptrace",
        High,
        "controls other processes; before Linux 4.8 it also evaded filters",
    ),
    any("quotactl", Moderate, "changes disk quotas of other users"),
    any("quotactl_fd", Moderate, "changes disk quotas of other users"),
    any("reboot", Moderate, "stops or restarts the machine"),
    any("request_key", Moderate, KEYS),
    any("rtas", Critical, HARDWARE),
    any("s390_pci_mmio_read", Critical, HARDWARE),
    any("s390_pci_mmio_write", Critical, HARDWARE),
    any("setns", High, "enters namespaces of other processes, and so leaves the own ones"),
    any("settimeofday", Moderate, CLOCK),
    some("socket", RARE_FAMILIES, Moderate, "opens address families whose code is rarely tested"),
    any(
        "socketcall",
        Moderate,
        "opens every address family; its arguments are in memory, where no filter sees them",
    ),
    any("stime", Moderate, CLOCK),
    any("swapoff", Moderate, "removes swap space of the whole machine"),
    any(
        "swapon",
        Moderate,
        "adds swap space to the machine, from which memory of all processes can be read",
    ),
    some(
        "syslog",
        LOG,
        Moderate,
        "reads and clears the kernel's log, which reveals addresses and activity of the machine",
    ),
    any("umount", High, MOUNTS),
    any("umount2", High, MOUNTS),
    some("unshare", UNSHARED, High, NAMESPACES),
    any("uselib", Moderate, "loads a library without the checks of the dynamic linker; obsolete"),
    powerful(
        Races,
        "userfaultfd",
        Moderate,
        "suspends the kernel at a chosen page fault, which makes races in it exploitable",
    ),
    any("vm86", Moderate, OLD_X86),
    any("vm86old", Moderate, OLD_X86),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_has_syscalls_of_the_tables() {
        assert!(DANGERS.is_sorted_by(|a, b| a.syscall < b.syscall));
        for danger in DANGERS {
            assert!(callgate_bpf::syscalls::is_known_name(danger.syscall), "{}", danger.syscall);
        }
    }

    #[test]
    fn a_call_is_dangerous_with_dangerous_arguments() {
        let of = |syscall, first: Option<u64>, arch| {
            danger_in_words(syscall, &[first, None, None, None, None, None], arch)
        };
        let x86 = Arch::X86_64;
        let opens = "opens address families whose code is rarely tested";
        assert_eq!(of("socket", Some(2), x86), None, "AF_INET");
        assert_eq!(of("socket", Some(40), x86), Some(format!("dangerous: {opens}")));
        let with_some = Some(format!("dangerous with some arguments: {opens}"));
        assert_eq!(of("socket", None, x86), with_some);
        assert_eq!(of("read", None, x86), None);
        assert_eq!(of("umount2", None, x86), Some(format!("dangerous: {MOUNTS}")));
        // SIGCHLD and CLONE_NEWUSER, and the stack, which comes first on s390x.
        assert!(of("clone", Some(0x1000_0011), x86).is_some());
        assert_eq!(of("clone", Some(0x0001_0f00), x86), None);
        let flags = [Some(0x1000_0000), Some(0x0001_0f00), None, None, None, None];
        assert_eq!(danger_in_words("clone", &flags, Arch::S390x), None);
    }
}
