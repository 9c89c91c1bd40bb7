//! Operands of conditions: arguments of a syscall, and the instruction pointer.

use super::value::ArgValue;

/// An argument of a syscall, or the instruction pointer, to be compared with constants, variables and other arguments.
///
/// [`arg`] and [`instruction_pointer`] create one; each comparison returns an [`Expr`](crate::Expr).
///
/// # Width
///
/// A register has 64 bits, but the kernel reads only the low 32 bits of an `int`. By default, a comparison uses exactly
/// the bits that the kernel reads. Only this width is correct for rules that allow *and* for rules that deny: with 64
/// bits, a program could bypass `deny_if("socket", arg("family").eq(16))` or `allow_if(…, arg(…).ne(16))` by setting a
/// high bit that the kernel ignores; with 32 bits, `allow_if("read", arg("count").le(4096))` would allow
/// 0x1_0000_1000 bytes. If the width is unknown, the builder requires [`Arg::low32`] or [`Arg::u64`].
///
/// | type in the kernel | compared on 64-bit ABIs, x32 and n32 | on other 32-bit ABIs |
/// |---|---|---|
/// | `int`, `unsigned`, `pid_t`, `umode_t`, … | the low 32 bits | 32 bits |
/// | `long`, `size_t`, pointers, `loff_t` | 64 bits | 32 bits, all that a register has |
/// | unknown | error: use `low32()` or `u64()` | 32 bits |
///
/// The width is that of the type in the syscall's definition. A few syscalls take a `long` but ignore its high
/// half, such as `clone` for its flags: test bits there ([`Arg::has_any_bit`]), or compare
/// [`Arg::low32`].
///
/// # Values
///
/// Values are integers of any type ([`ArgValue`]). A **negative** value is sign-extended to the width of
/// the comparison: `arg("fd").eq(-100)` compares with 0xffff_ff9c, `arg("offset").eq(-1)` on a 64-bit
/// ABI with 0xffff_ffff_ffff_ffff. A value that does not fit into the width is an error. Order comparisons (`<`,
/// `<=`, `>`, `>=`, ranges) are **unsigned**, as in BPF; a negative value in one is an error.
///
/// # The matchers of gVisor
///
/// Those of gVisor always compare 64 bits. [`Arg::u64`] does the same, so `arg(0).u64()` in place of `arg(0)` below gives
/// exactly gVisor's function, also for an `int`, of which the kernel reads only the low half.
///
/// | gVisor (`pkg/seccomp`) | here |
/// |---|---|
/// | `AnyValue{}` | [`arg(0).any()`](Arg::any) |
/// | `EqualTo(v)` | [`arg(0).eq(v)`](Arg::eq) |
/// | `NotEqual(v)` | [`arg(0).ne(v)`](Arg::ne) |
/// | `GreaterThan(v)`, `GreaterThanOrEqual(v)` | [`arg(0).gt(v)`](Arg::gt), [`arg(0).ge(v)`](Arg::ge) |
/// | `LessThan(v)`, `LessThanOrEqual(v)` | [`arg(0).lt(v)`](Arg::lt), [`arg(0).le(v)`](Arg::le) |
/// | `MaskedEqual(mask, v)` | [`arg(0).masked(mask).eq(v)`](Arg::masked) |
/// | `BitsAllowlist(mask)` | [`arg(0).bits_within(mask)`](Arg::bits_within) |
/// | `NonNegativeFD{}` | [`arg(0).non_negative()`](Arg::non_negative); exactly: `arg(0).u64().le(i32::MAX)` |
/// | the seventh value of `PerArg`, for RIP | [`instruction_pointer()`] |
/// | `PerArg{a, b}` | `arg(0)… & arg(1)…` |
/// | `Or{a, b}`, `And{a, b}` | `a \| b`, `a & b`; [`Expr::any_of`](crate::Expr::any_of), [`Expr::all_of`](crate::Expr::all_of) |
/// | `MatchAll{}` | [`Expr::always()`](crate::Expr::always) |
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// let filter = Filter::builder(Arch::X86_64)
///     .allow_if("mprotect", arg("prot").bits_within(0x1 | 0x2))? // PROT_READ | PROT_WRITE
///     .build()?;
/// assert_eq!(filter.verdict(Arch::X86_64, 10, [0, 4096, 0x3, 0, 0, 0]), Verdict::ALLOW);
/// assert_eq!(filter.verdict(Arch::X86_64, 10, [0, 4096, 0x4, 0, 0, 0]), Verdict::KILL_PROCESS);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arg {
    pub(super) place: Place,
    pub(super) width: Width,
    pub(super) mask: Option<ArgValue>,
}

#[derive(Clone, Debug)]
pub(super) enum Place {
    Name(String),
    Number(i128),
    InstructionPointer,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Name(name) => write!(f, "argument {name:?}"),
            Place::Number(number) => write!(f, "argument {number}"),
            Place::InstructionPointer => f.write_str("the instruction pointer"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The width that the kernel reads.
    Kernel,
    Low32,
    U64,
}

/// An argument of a syscall, by its name in the signature or by its number from 0.
///
/// Names are those of the kernel's definition: `write(2)` has `fd`, `buf` and `count`. The error for an unknown name
/// lists the known names.
///
/// ```
/// use callgate::{Arch, Filter, arg};
///
/// let builder = Filter::builder(Arch::X86_64);
/// let error = builder.allow_if("write", arg("size").lt(10)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"rule 1, write on x86_64: no argument named "size"; write(2) has fd, buf, count"#
/// );
/// ```
pub fn arg(which: impl Into<ArgRef>) -> Arg {
    Arg { place: which.into().0, width: Width::Kernel, mask: None }
}

/// The instruction pointer, 64 bits: the address after the syscall instruction.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, instruction_pointer};
///
/// let vdso = 0x7fff_0000_0000u64..0x7fff_0000_2000;
/// let builder = Filter::builder(Arch::X86_64).default(Verdict::ALLOW);
/// let filter = builder.deny_if("time", !instruction_pointer().is_in_range(vdso))?.build()?;
/// assert_eq!(filter.verdict(Arch::X86_64, 201, [0; 6]), Verdict::errno(1));
/// # Ok::<(), callgate::Error>(())
/// ```
pub fn instruction_pointer() -> Arg {
    Arg { place: Place::InstructionPointer, width: Width::Kernel, mask: None }
}

/// An argument by name, or by number from 0 to 5; both convert into it. See [`arg`].
#[derive(Clone, Debug)]
pub struct ArgRef(Place);

impl From<&str> for ArgRef {
    fn from(name: &str) -> ArgRef {
        ArgRef(Place::Name(name.to_owned()))
    }
}

impl From<String> for ArgRef {
    fn from(name: String) -> ArgRef {
        ArgRef(Place::Name(name))
    }
}

macro_rules! positions {
    ($($integer:ty),*) => {$(
        impl From<$integer> for ArgRef {
            fn from(number: $integer) -> ArgRef {
                ArgRef(Place::Number(ArgValue::from(number).0))
            }
        }
    )*};
}

positions!(u8, u32, i32, usize);

impl Arg {
    /// Compares the low 32 bits only, regardless of the width that the kernel reads.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("read", arg("count").low32().eq(1))?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 0, [0, 0, 7 << 32 | 1, 0, 0, 0]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    #[must_use]
    pub fn low32(self) -> Arg {
        Arg { width: Width::Low32, ..self }
    }

    /// Compares all 64 bits of the register, regardless of the width that the kernel reads; 32 bits where registers have
    /// 32 bits.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("read", arg("fd").u64().eq(1))?.build()?;
    /// assert_ne!(filter.verdict(Arch::X86_64, 0, [7 << 32 | 1, 0, 0, 0, 0, 0]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    #[must_use]
    pub fn u64(self) -> Arg {
        Arg { width: Width::U64, ..self }
    }

    /// Compares `argument & mask`. It is an error if the mask is zero, or if an equality test has a value with bits
    /// outside the mask.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// // Access mode O_RDONLY, whatever the other flags are.
    /// let filter = builder.allow_if("openat", arg("flags").masked(0x3).eq(0))?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 257, [0, 0, 0x80000, 0, 0, 0]), Verdict::ALLOW);
    /// assert_ne!(filter.verdict(Arch::X86_64, 257, [0, 0, 0x80001, 0, 0, 0]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    #[must_use]
    pub fn masked(self, mask: impl Into<ArgValue>) -> Arg {
        Arg { mask: Some(mask.into()), ..self }
    }
}
