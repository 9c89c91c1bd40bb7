//! What is known about a call apart from its numbers.

use super::KernelVersion;

/// What is known about a call, whatever the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFacts {
    /// Its name, as in the kernel's headers.
    pub name: &'static str,
    /// The first kernel that had it, on any architecture. `None` when no mainline kernel ever did
    /// (the slots of `afs_syscall`, `tuxcall`, …).
    pub introduced: Option<KernelVersion>,
    /// [`introduced`](CallFacts::introduced) as syscalls(2) spells it, with the third number that
    /// the kernels before 3.0 had: `2.6.28`. Empty when `introduced` is `None`.
    pub since: &'static str,
    /// Its arguments, in the order of the words `args[0]`… of `seccomp_data`, as a 64-bit x86
    /// kernel defines them; empty when they are [unknown](CallFacts::args_known).
    ///
    /// Some architectures deviate. 32-bit ones pass a 64-bit argument in two words (some after a
    /// pad word), and their oldest calls take a pointer to the arguments (`mmap`, `select` of
    /// x86). `clone` takes `tls` before `child_tidptr` on x86, arm, aarch64, mips, ppc and others,
    /// and its first two arguments change places on s390 and s390x.
    pub args: &'static [ArgFacts],
    /// Whether the arguments are known. A call without arguments is known to have none.
    pub args_known: bool,
}

/// What is known about an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgFacts {
    /// Its name in the kernel's definition of the call.
    pub name: &'static str,
    /// Its C type in the kernel, such as `unsigned int`, `umode_t`, `const char *`.
    pub ctype: &'static str,
    /// How many bits a 64-bit kernel looks at, by the type: 32 or 64. At 32 it ignores the high
    /// word of the register, so that a filter which compares it can be passed by setting a bit
    /// there. Of a `umode_t` the kernel takes 16 bits; this is 32 here, as filters compare words.
    /// What a call narrows on its own later, such as the flags of `clone`, stays 64.
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

/// A call with known arguments.
pub(crate) const fn known(
    name: &'static str,
    since: &'static str,
    args: &'static [ArgFacts],
) -> CallFacts {
    CallFacts { name, introduced: KernelVersion::read(since), since, args, args_known: true }
}

/// A call whose arguments are unknown.
pub(crate) const fn unknown(name: &'static str, since: &'static str) -> CallFacts {
    CallFacts { name, introduced: KernelVersion::read(since), since, args: &[], args_known: false }
}
