//! Which arguments of which calls are limited to what was recorded.
//!
//! A list, because it takes knowledge of the call: an argument is on it when it chooses what the call
//! *does*, a command, a kind of socket, a privilege. Pointers, sizes, descriptors, ids and offsets are
//! not: their values mean nothing from one run to the next. Nor are flags whose values follow from the
//! data of the day (those of `open`), or that make no difference to what a program may do (clocks, advice
//! on memory): limiting them would only break the program on some other day.
//!
//! Values that libraries may use on any day are always granted (`usual`): a lock that was never contended
//! while somebody recorded will be, and a program whose `futex` fails is aborted.
//!
//! Of an argument only those bits are compared that matter: a limit on all bits of `clone`'s flags would
//! depend on the version of the library, one on the bits for namespaces does not. Where the kernel
//! takes 32 bits of a register, only these are compared: the high half may hold anything, and a filter
//! that looks at it denies calls that the kernel would accept, or with inequalities lets pass what
//! it should not (CVE-2019-10063).
//!
//! Source of the values: the uapi headers of Linux 6.18.

use callgate_bpf::syscalls::{Arch, facts};

/// An argument that may be limited.
#[derive(Debug)]
pub(super) struct Limitable {
    pub(super) call: &'static str,
    pub(super) arg: u8,
    /// Its name in the kernel's definition of the call.
    pub(super) name: &'static str,
    /// The bits that are compared.
    pub(super) bits: u64,
    pub(super) needs: Evidence,
    /// Values of these bits that libraries may use on any day, whatever was recorded.
    pub(super) usual: &'static [u64],
    /// Why it is limited.
    pub(super) why: &'static str,
}

/// When recorded values are taken for all that a program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// However often it was seen: other values are privileges of their own.
    Any,
    /// When it is stable: the same in all recordings that have the call, or seen often in the only one.
    Stable,
}

/// The arguments of a call that may be limited.
pub(super) fn of(call: &str) -> impl Iterator<Item = &'static Limitable> {
    LIMITABLE.iter().filter(move |limitable| limitable.call == call)
}

impl Limitable {
    /// Whether the argument stands at another place on an architecture, or means something else.
    pub(super) fn is_elsewhere(&self, arch: Arch) -> bool {
        match self.call {
            // CONFIG_CLONE_BACKWARDS2: the first two change places.
            "clone" => matches!(arch, Arch::S390 | Arch::S390x),
            // The oldest calls take a pointer to their arguments.
            "mmap" => matches!(arch, Arch::X86 | Arch::S390 | Arch::S390x | Arch::M68k),
            _ => false,
        }
    }

    /// The bits that are compared: those that the kernel looks at among those that matter.
    pub(super) fn mask(&self) -> u64 {
        let arg = facts(self.call).and_then(|facts| facts.args.get(usize::from(self.arg)));
        match arg {
            Some(arg) if arg.bits == 32 => self.bits & u64::from(u32::MAX),
            _ => self.bits,
        }
    }
}

const ALL: u64 = u64::MAX;
/// CLONE_NEW* of `linux/sched.h` that clone(2) knows: NS, CGROUP, UTS, IPC, USER, PID, NET.
const NAMESPACES: u64 = 0x7e02_0000;
/// PROT_WRITE and PROT_EXEC.
const WRITE_EXEC: u64 = 0x6;
/// SOCK_TYPE_MASK: without SOCK_CLOEXEC and SOCK_NONBLOCK.
const SOCKET_TYPE: u64 = 0xf;
/// FUTEX_CMD_MASK: without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
const FUTEX_COMMAND: u64 = !0x180;

/// No namespace is new.
const SAME_NAMESPACES: &[u64] = &[0];
/// Memory that is read, and memory that is written: malloc and threads need it now or later.
const DATA: &[u64] = &[0, 2];
/// FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET: which of them locks come to
/// use is a matter of chance. Those with priorities (LOCK_PI and so on) are not here.
const LOCKS: &[u64] = &[0, 1, 3, 4, 5, 9, 10];
/// TCGETS, TIOCGWINSZ, TCGETS2: with which of them libraries ask whether a descriptor is a terminal. The
/// numbers are other ones on mips, parisc, powerpc and sh.
pub(super) const TERMINAL: &[u64] = &[0x5401, 0x5413, 0x802c_542a];
/// ARCH_SET_FS: every library sets its thread up.
const THREAD: &[u64] = &[0x1002];
/// F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: dup(2) and flags of the own descriptors.
const DESCRIPTORS: &[u64] = &[0, 1, 2, 3, 4, 1030];

const FAMILY: &str = "each family of sockets is another part of the kernel";
const COMMAND: &str = "each command is a call of its own";
const PRIVILEGE: &str = "other values are other privileges";
const EXECUTABLE: &str = "memory that is written or executed is decided by these bits";

#[rustfmt::skip]
const fn row(
    call: &'static str, arg: u8, name: &'static str, bits: u64, needs: Evidence, why: &'static str,
) -> Limitable {
    Limitable { call, arg, name, bits, needs, usual: &[], why }
}

impl Limitable {
    const fn usual(self, usual: &'static [u64]) -> Limitable {
        Limitable { usual, ..self }
    }
}

#[rustfmt::skip]
static LIMITABLE: &[Limitable] = &[
    row("arch_prctl", 0, "option", ALL, Evidence::Stable, COMMAND).usual(THREAD),
    row("bpf", 0, "cmd", ALL, Evidence::Any, PRIVILEGE),
    row("clone", 0, "clone_flags", NAMESPACES, Evidence::Any, "a new namespace is a new attack surface").usual(SAME_NAMESPACES),
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
    row("socket", 1, "type", SOCKET_TYPE, Evidence::Any, "raw sockets and packets are kinds of sockets"),
    row("socket", 2, "protocol", ALL, Evidence::Stable, FAMILY),
    row("socketcall", 0, "call", ALL, Evidence::Any, COMMAND),
    row("socketpair", 0, "family", ALL, Evidence::Any, FAMILY),
    row("socketpair", 1, "type", SOCKET_TYPE, Evidence::Any, "raw sockets and packets are kinds of sockets"),
    row("socketpair", 2, "protocol", ALL, Evidence::Stable, FAMILY),
    row("syslog", 0, "type", ALL, Evidence::Any, PRIVILEGE),
    row("unshare", 0, "unshare_flags", ALL, Evidence::Any, PRIVILEGE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_the_kernels() {
        for row in LIMITABLE {
            let facts = facts(row.call).unwrap();
            assert!(facts.args_known, "{}", row.call);
            let arg = facts.args.get(usize::from(row.arg)).unwrap();
            assert_eq!(arg.name, row.name, "{}", row.call);
            // None of them twice, and none with bits that are not compared.
            let mut usual: Vec<u64> = row.usual.iter().map(|value| value & row.mask()).collect();
            usual.sort_unstable();
            usual.dedup();
            assert_eq!(usual.len(), row.usual.len(), "{}", row.call);
            // Never what is a place in memory, a size or a descriptor.
            assert!(!arg.ctype.contains('*') && arg.ctype != "size_t", "{}", row.call);
            assert!(!["fd", "pid", "len", "addr"].contains(&arg.name), "{}", row.call);
        }
    }

    #[test]
    fn the_high_half_is_compared_only_where_the_kernel_looks_at_it() {
        let mask = |call| of(call).next().unwrap().mask();
        assert_eq!(mask("ioctl"), 0xffff_ffff);
        assert_eq!(mask("futex"), 0xffff_fe7f);
        assert_eq!(mask("ptrace"), u64::MAX);
        assert_eq!(mask("clone"), NAMESPACES);
    }
}
