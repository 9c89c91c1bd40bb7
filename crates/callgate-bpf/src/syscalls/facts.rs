//! Facts about syscalls other than their numbers.

use super::KernelVersion;

/// Facts about a syscall, independent of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallFacts {
    /// Its name, as in the kernel's headers.
    pub name: &'static str,
    /// The first kernel that had it, on any architecture. `None` if no mainline kernel ever had it
    /// (the slots of `afs_syscall`, `tuxcall`, …).
    pub introduced: Option<KernelVersion>,
    /// [`introduced`](SyscallFacts::introduced) as syscalls(2) writes it, with the third number of
    /// kernels before 3.0: `2.6.28`. Empty if `introduced` is `None`.
    pub since: &'static str,
    /// Its arguments, in the order of the words `args[0]`… of `seccomp_data`, as a 64-bit x86
    /// kernel defines them; empty if they are [unknown](SyscallFacts::args_known).
    ///
    /// Some architectures deviate. 32-bit ones pass a 64-bit argument in two words (some after a
    /// pad word), and their oldest syscalls take a pointer to the arguments (`mmap`, `select` of
    /// x86). `clone` takes `tls` before `child_tidptr` on x86, arm, aarch64, mips, ppc and others,
    /// and its first two arguments are swapped on s390 and s390x.
    pub args: &'static [ArgFacts],
    /// Whether the arguments are known; true for a syscall without arguments.
    pub args_known: bool,
}

/// Facts about an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgFacts {
    /// Its name in the kernel's definition of the syscall.
    pub name: &'static str,
    /// Its C type in the kernel, such as `unsigned int`, `umode_t`, `const char *`.
    pub ctype: &'static str,
    /// How many bits a 64-bit kernel reads, by the type: 32 or 64. If it is 32, the kernel ignores the
    /// high word of the register, so a filter that compares it can be evaded by setting a bit there. Of
    /// a `umode_t` the kernel reads 16 bits; this is 32 here, because filters compare words. Arguments
    /// that the syscall itself truncates later, such as the flags of `clone`, have 64.
    pub bits: u8,
}

/// A 32-bit argument.
pub(crate) const fn w32(name: &'static str, ctype: &'static str) -> ArgFacts {
    ArgFacts { name, ctype, bits: 32 }
}

/// A 64-bit argument.
pub(crate) const fn w64(name: &'static str, ctype: &'static str) -> ArgFacts {
    ArgFacts { name, ctype, bits: 64 }
}

/// A syscall with known arguments.
pub(crate) const fn known(
    name: &'static str,
    since: &'static str,
    args: &'static [ArgFacts],
) -> SyscallFacts {
    SyscallFacts { name, introduced: KernelVersion::read(since), since, args, args_known: true }
}

/// A syscall whose arguments are unknown.
pub(crate) const fn unknown(name: &'static str, since: &'static str) -> SyscallFacts {
    SyscallFacts {
        name,
        introduced: KernelVersion::read(since),
        since,
        args: &[],
        args_known: false,
    }
}
