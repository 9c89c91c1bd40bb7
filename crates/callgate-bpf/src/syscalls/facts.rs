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
    pub args: Args,
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

/// The arguments of a syscall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args(&'static str);

impl Args {
    /// The arguments, in their order.
    pub fn iter(self) -> impl Iterator<Item = ArgFacts> + Clone {
        self.0.split(", ").filter_map(ArgFacts::read)
    }

    /// An argument by its index.
    pub fn get(self, index: usize) -> Option<ArgFacts> {
        self.iter().nth(index)
    }

    /// The number of arguments.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl SyscallFacts {
    /// Reads a row of the table. It is a text because that needs one pointer, which the loader of a program relocates,
    /// instead of two for each argument: `accept 2.0 (fd: 32 int, upeer_sockaddr: 64 struct sockaddr *)`. Without a version
    /// it has `-`, and without parentheses the arguments are unknown.
    pub(super) fn read(row: &'static str) -> Option<SyscallFacts> {
        let (name, rest) = row.split_once(' ')?;
        let (since, args) = match rest.split_once(' ') {
            Some((since, args)) => (since, args.strip_prefix('(')?.strip_suffix(')')),
            None => (rest, None),
        };
        let since = if since == "-" { "" } else { since };
        Some(SyscallFacts {
            name,
            introduced: KernelVersion::read(since),
            since,
            args: Args(args.unwrap_or_default()),
            args_known: args.is_some(),
        })
    }
}

impl ArgFacts {
    /// Reads `fd: 32 int`.
    fn read(text: &'static str) -> Option<ArgFacts> {
        let (name, rest) = text.split_once(": ")?;
        let (bits, ctype) = rest.split_once(' ')?;
        Some(ArgFacts { name, ctype, bits: bits.parse().ok()? })
    }
}
