//! Syscalls by name or by number.

use callgate_core::Arch;

/// A syscall of a rule: a name or a number.
///
/// Names and numbers convert into it, so that `"read"`, `libc::SYS_read` and `0` are accepted for syscalls. A **name**
/// stands for the syscall on every architecture of the builder that has it. A **number** belongs to one
/// architecture; if the builder has several with different tokens, use [`Syscall::on`].
///
/// On 32-bit x86, s390 and others, `socketcall(2)` and `ipc(2)` multiplex the syscalls for sockets and System V IPC. A
/// name covers the syscall itself and its multiplexer; see [`Syscall::direct`].
///
/// ```
/// use callgate::{Arch, Filter, Syscall, Verdict};
///
/// let filter = Filter::builder([Arch::X86_64, Arch::X86])
///     .allow(["read", "write"])?
///     .allow([Syscall::on(Arch::X86_64, 231), Syscall::on(Arch::X86, 252)])? // exit_group
///     .build()?;
/// assert_eq!(filter.verdict(Arch::X86, 252, [0; 6]), Verdict::ALLOW);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syscall {
    pub(super) key: Key,
    pub(super) direct: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Name(String),
    Number(i128),
    On(Arch, u32),
}

impl Syscall {
    /// The syscall with this name.
    ///
    /// ```
    /// assert_eq!(callgate::Syscall::name("read"), "read".into());
    /// ```
    pub fn name(name: impl Into<String>) -> Syscall {
        Syscall { key: Key::Name(name.into()), direct: false }
    }

    /// The syscall with this number, for a builder whose architectures share one token. Numbers without a name are
    /// accepted, because the syscall may be newer than the tables.
    ///
    /// ```
    /// assert_eq!(callgate::Syscall::number(0), 0.into());
    /// ```
    pub fn number(number: u32) -> Syscall {
        Syscall { key: Key::Number(number.into()), direct: false }
    }

    /// The syscall with this number on one of the builder's architectures.
    ///
    /// ```
    /// use callgate::{Arch, Filter, Syscall};
    /// assert!(Filter::builder(Arch::X86_64).allow([Syscall::on(Arch::X86, 3)]).is_err());
    /// ```
    pub fn on(arch: Arch, number: u32) -> Syscall {
        Syscall { key: Key::On(arch, number), direct: false }
    }

    /// The syscall by its own number only, not through `socketcall(2)` or `ipc(2)`.
    ///
    /// A rule with a condition requires this on architectures with these multiplexers: their arguments are in memory,
    /// which a filter cannot read. Add a rule for `socketcall` or `ipc`.
    ///
    /// ```
    /// use callgate::{Arch, Filter, Syscall, arg};
    ///
    /// let unix = || arg("family").eq(1);
    /// let builder = || Filter::builder(Arch::X86);
    /// assert!(builder().allow_if("socket", unix()).is_err());
    /// assert!(builder().allow_if(Syscall::name("socket").direct(), unix()).is_ok());
    /// ```
    #[must_use]
    pub fn direct(self) -> Syscall {
        Syscall { direct: true, ..self }
    }
}

impl From<&str> for Syscall {
    fn from(name: &str) -> Syscall {
        Syscall::name(name)
    }
}

impl From<&&str> for Syscall {
    fn from(name: &&str) -> Syscall {
        Syscall::name(*name)
    }
}

impl From<String> for Syscall {
    fn from(name: String) -> Syscall {
        Syscall::name(name)
    }
}

impl From<&String> for Syscall {
    fn from(name: &String) -> Syscall {
        Syscall::name(name)
    }
}

/// The integer types of syscall numbers; `libc::SYS_*` are signed.
macro_rules! number {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Syscall {
            fn from(number: $integer) -> Syscall {
                Syscall { key: Key::Number(number.into()), direct: false }
            }
        }
    )*};
}

number!(u32, i32, u64, i64);
