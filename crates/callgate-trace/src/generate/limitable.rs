//! The arguments that may be limited to recorded values.
//!
//! This is a list, because the choice needs knowledge of the syscall. An argument is on the list if it selects what the
//! syscall *does*: a command, a socket family, a privilege. These are not on the list:
//!
//! - pointers, sizes, descriptors, IDs and offsets: their values mean nothing in another run
//! - flags that depend on the data, such as those of `open`, and flags that give no additional power, such as clocks and
//!   memory advice: a limit would only break the program later
//!
//! Values that libraries may use in any run are always allowed (`usual`): a lock that was never contended during
//! recording may be contended later, and glibc aborts a program whose `futex` fails.
//!
//! Only significant bits are compared: a limit of all flags of `clone` would depend on the version of the library, a
//! limit of the namespace flags does not. If the kernel reads 32 bits of a register, only these are compared. The high
//! half may have any value, and a filter that compares it denies syscalls that the kernel would accept, or with
//! inequalities allows syscalls that it should deny (CVE-2019-10063).
//!
//! Source of the values: the uapi headers of Linux 6.18.

use super::namespaces;
use callgate_bpf::syscalls::facts;
use callgate_core::Arch;

/// An argument that may be limited.
#[derive(Debug)]
pub(crate) struct LimitableArg {
    pub(crate) syscall: &'static str,
    pub(crate) arg: u8,
    /// Its name in the kernel's definition of the syscall.
    pub(crate) name: &'static str,
    /// The bits that are compared.
    pub(crate) bits: u64,
    pub(crate) needs: Evidence,
    /// Values of these bits that libraries may use in any run; always allowed.
    pub(crate) usual: &'static [u64],
    /// Why it is limited.
    pub(crate) why: &'static str,
}

/// How much evidence a limit to recorded values needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// One observation: other values are additional privileges.
    Any,
    /// Stable values: the same in all recordings of the syscall, or observed often in the only one.
    Stable,
}

/// The limitable arguments of a syscall.
pub(crate) fn of(syscall: &str) -> impl Iterator<Item = &'static LimitableArg> {
    LIMITABLE.iter().filter(move |limitable| limitable.syscall == syscall)
}

impl LimitableArg {
    /// The index of the argument on an architecture; `None` if it has another meaning there.
    pub(crate) fn position(&self, arch: Arch) -> Option<u8> {
        match (self.syscall, arch) {
            // CONFIG_CLONE_BACKWARDS2: the first two arguments are swapped.
            ("clone", Arch::S390 | Arch::S390x) => Some(self.arg ^ 1),
            // The old syscall takes a pointer to its arguments.
            ("mmap", Arch::X86 | Arch::S390 | Arch::S390x | Arch::M68k) => None,
            _ => Some(self.arg),
        }
    }

    /// The index of the argument on all of these architectures; `None` if it differs.
    pub(crate) fn common_position(&self, arches: &[Arch]) -> Option<u8> {
        let mut positions = arches.iter().map(|arch| self.position(*arch));
        let first = positions.next().unwrap_or(Some(self.arg))?;
        positions.all(|position| position == Some(first)).then_some(first)
    }

    /// The bits that are compared: the significant ones that the kernel reads.
    pub(crate) fn mask(&self) -> u64 {
        let arg = facts(self.syscall).and_then(|facts| facts.args.get(usize::from(self.arg)));
        match arg {
            Some(arg) if arg.bits == 32 => self.bits & u64::from(u32::MAX),
            _ => self.bits,
        }
    }

    /// Whether libraries may use a value in any run, judged by the bits that are compared.
    pub(crate) fn is_usual(&self, value: u64) -> bool {
        let mask = self.mask();
        self.usual.iter().any(|usual| usual & mask == value & mask)
    }
}

const ALL: u64 = u64::MAX;
/// PROT_WRITE and PROT_EXEC.
const WRITE_EXEC: u64 = 0x6;
/// SOCK_TYPE_MASK: without SOCK_CLOEXEC and SOCK_NONBLOCK.
const SOCKET_TYPE: u64 = 0xf;
/// FUTEX_CMD_MASK: without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
const FUTEX_COMMAND: u64 = !0x180;

/// No new namespace.
const SAME_NAMESPACES: &[u64] = &[0];
/// Readable memory and writable memory, which malloc and threads may need in any run.
const DATA: &[u64] = &[0, 2];
/// FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET: which of these locks use depends on
/// timing. Operations with priority inheritance (LOCK_PI and others) are not included.
const LOCKS: &[u64] = &[0, 1, 3, 4, 5, 9, 10];
/// TCGETS, TIOCGWINSZ, TCGETS2: libraries test with these whether a descriptor is a terminal. The numbers differ on
/// mips, parisc, powerpc and sh.
pub(super) const TERMINAL: &[u64] = &[0x5401, 0x5413, 0x802c_542a];
/// ARCH_SET_FS: every C library sets the thread pointer.
const THREAD: &[u64] = &[0x1002];
/// F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: dup(2) and flags of descriptors.
const DESCRIPTORS: &[u64] = &[0, 1, 2, 3, 4, 1030];

const FAMILY: &str = "each socket family is a separate part of the kernel";
const COMMAND: &str = "each command is a separate operation";
const PRIVILEGE: &str = "other values are additional privileges";
const EXECUTABLE: &str = "these bits make memory writable or executable";

#[rustfmt::skip]
const fn row(
    syscall: &'static str, arg: u8, name: &'static str, bits: u64, needs: Evidence, why: &'static str,
) -> LimitableArg {
    LimitableArg { syscall, arg, name, bits, needs, usual: &[], why }
}

impl LimitableArg {
    const fn usual(self, usual: &'static [u64]) -> LimitableArg {
        LimitableArg { usual, ..self }
    }
}

#[rustfmt::skip]
static LIMITABLE: &[LimitableArg] = &[
    row("arch_prctl", 0, "option", ALL, Evidence::Stable, COMMAND).usual(THREAD),
    row("bpf", 0, "cmd", ALL, Evidence::Any, PRIVILEGE),
    row("clone", 0, "clone_flags", namespaces::CLONE, Evidence::Any, "new namespaces expose more of the kernel").usual(SAME_NAMESPACES),
    row("fcntl", 1, "cmd", ALL, Evidence::Stable, COMMAND).usual(DESCRIPTORS),
    row("fcntl64", 1, "cmd", ALL, Evidence::Stable, COMMAND).usual(DESCRIPTORS),
    row("futex", 1, "op", FUTEX_COMMAND, Evidence::Stable, COMMAND).usual(LOCKS),
    row("futex_time64", 1, "op", FUTEX_COMMAND, Evidence::Stable, COMMAND).usual(LOCKS),
    row("io_uring_register", 1, "opcode", ALL, Evidence::Any, PRIVILEGE),
    row("ioctl", 1, "cmd", ALL, Evidence::Stable, COMMAND).usual(TERMINAL),
    row("ipc", 0, "call", ALL, Evidence::Any, COMMAND),
    row("keyctl", 0, "option", ALL, Evidence::Any, PRIVILEGE),
    row("mmap", 2, "prot", WRITE_EXEC, Evidence::Any, EXECUTABLE).usual(DATA),
    row("mmap2", 2, "prot", WRITE_EXEC, Evidence::Any, EXECUTABLE).usual(DATA),
    row("modify_ldt", 0, "func", ALL, Evidence::Any, PRIVILEGE),
    row("mprotect", 2, "prot", WRITE_EXEC, Evidence::Any, EXECUTABLE).usual(DATA),
    row("msgctl", 1, "cmd", ALL, Evidence::Stable, COMMAND),
    row("personality", 0, "personality", ALL, Evidence::Any, PRIVILEGE),
    row("pkey_mprotect", 2, "prot", WRITE_EXEC, Evidence::Any, EXECUTABLE).usual(DATA),
    row("prctl", 0, "option", ALL, Evidence::Stable, COMMAND),
    row("ptrace", 0, "request", ALL, Evidence::Any, PRIVILEGE),
    row("quotactl", 0, "cmd", ALL, Evidence::Any, PRIVILEGE),
    row("sched_setscheduler", 1, "policy", ALL, Evidence::Any, PRIVILEGE),
    row("seccomp", 0, "op", ALL, Evidence::Stable, COMMAND),
    row("semctl", 2, "cmd", ALL, Evidence::Stable, COMMAND),
    row("setns", 1, "flags", ALL, Evidence::Any, PRIVILEGE),
    row("setsockopt", 1, "level", ALL, Evidence::Stable, COMMAND),
    row("setsockopt", 2, "optname", ALL, Evidence::Stable, COMMAND),
    row("shmctl", 1, "cmd", ALL, Evidence::Stable, COMMAND),
    row("socket", 0, "family", ALL, Evidence::Any, FAMILY),
    row("socket", 1, "type", SOCKET_TYPE, Evidence::Any, "raw and packet sockets are additional privileges"),
    row("socket", 2, "protocol", ALL, Evidence::Stable, FAMILY),
    row("socketcall", 0, "call", ALL, Evidence::Any, COMMAND),
    row("socketpair", 0, "family", ALL, Evidence::Any, FAMILY),
    row("socketpair", 1, "type", SOCKET_TYPE, Evidence::Any, "raw and packet sockets are additional privileges"),
    row("socketpair", 2, "protocol", ALL, Evidence::Stable, FAMILY),
    row("syslog", 0, "type", ALL, Evidence::Any, PRIVILEGE),
    row("unshare", 0, "unshare_flags", ALL, Evidence::Any, PRIVILEGE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_match_the_kernel() {
        for row in LIMITABLE {
            let facts = facts(row.syscall).unwrap();
            assert!(facts.args_known, "{}", row.syscall);
            let arg = facts.args.get(usize::from(row.arg)).unwrap();
            assert_eq!(arg.name, row.name, "{}", row.syscall);
            // No duplicates, also after masking.
            let mut usual: Vec<u64> = row.usual.iter().map(|value| value & row.mask()).collect();
            usual.sort_unstable();
            usual.dedup();
            assert_eq!(usual.len(), row.usual.len(), "{}", row.syscall);
            // Never an address, a size or a descriptor.
            assert!(!arg.ctype.contains('*') && arg.ctype != "size_t", "{}", row.syscall);
            assert!(!["fd", "pid", "len", "addr"].contains(&arg.name), "{}", row.syscall);
        }
    }

    #[test]
    fn the_flags_of_clone_are_the_second_argument_on_s390x() {
        let clone = of("clone").next().unwrap();
        assert_eq!(clone.common_position(&[Arch::X86_64, Arch::Aarch64]), Some(0));
        assert_eq!(clone.common_position(&[Arch::S390x, Arch::S390]), Some(1));
        assert_eq!(clone.common_position(&[Arch::S390x, Arch::Ppc]), None);
        assert_eq!(of("mmap").next().unwrap().common_position(&[Arch::X86_64, Arch::X86]), None);
    }

    #[test]
    fn the_high_half_is_compared_only_if_the_kernel_reads_it() {
        let mask = |syscall| of(syscall).next().unwrap().mask();
        assert_eq!(mask("ioctl"), 0xffff_ffff);
        assert_eq!(mask("futex"), 0xffff_fe7f);
        assert_eq!(mask("ptrace"), u64::MAX);
        assert_eq!(mask("clone"), namespaces::CLONE);
    }
}
