//! Arguments of a syscall, the instruction pointer, and what they are compared with.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::expr::{Expr, Matcher};
use callgate_proof::policy::Cmp;

/// An argument of a syscall, or the instruction pointer, to be compared with constants.
///
/// [`arg`] and [`instruction_pointer`] make one; each comparison makes an [`Expr`].
///
/// # Width
///
/// A register has 64 bits, but of an `int` the kernel reads the low 32 only. By default exactly
/// those bits are compared that the kernel reads. This is the one width that is right for rules that
/// allow *and* for rules that deny: with 64 bits, `deny_if("socket", arg("family").eq(16))` could be
/// passed by setting a high bit that the kernel ignores, and so could `allow_if(…, arg(…).ne(16))`; with 32
/// bits, `allow_if("read", arg("count").le(4096))` would allow 0x1_0000_1000 bytes. Where the width is
/// unknown, the builder asks for [`Arg::low32`] or [`Arg::u64`] instead of taking one.
///
/// | type in the kernel | compared on 64-bit ABIs, x32 and n32 | on other 32-bit ABIs |
/// |---|---|---|
/// | `int`, `unsigned`, `pid_t`, `umode_t`, … | the low 32 bits | 32 bits |
/// | `long`, `size_t`, pointers, `loff_t` | 64 bits | 32 bits, all that a register has |
/// | unknown | error: say `low32()` or `u64()` | 32 bits |
///
/// The width is that of the type in the syscall's definition. A few syscalls take a `long` and drop its high
/// half later, as `clone` does with its flags: test bits there ([`Arg::has_any_bit`]), or compare
/// [`Arg::low32`].
///
/// # Values
///
/// Values are integers of any type ([`ArgValue`]). A **negative** value is sign-extended to the width that
/// is compared: `arg("fd").eq(-100)` compares with 0xffff_ff9c, `arg("offset").eq(-1)` on a 64-bit
/// ABI with 0xffff_ffff_ffff_ffff. A value that does not fit into the width is an error. Comparisons
/// by order are **unsigned**, as in BPF, and a negative value in one is an error.
///
/// # The matchers of gVisor
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
/// | `NonNegativeFD{}` | [`arg(0).non_negative()`](Arg::non_negative) |
/// | the seventh value of `PerArg`, for RIP | [`instruction_pointer()`] |
/// | `PerArg{a, b}` | `arg(0)… & arg(1)…` |
/// | `Or{a, b}`, `And{a, b}` | `a \| b`, `a & b`; [`Expr::any_of`], [`Expr::all_of`] |
/// | `MatchAll{}` | [`Expr::always()`] |
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// What the kernel reads.
    Kernel,
    Low32,
    U64,
}

/// An argument of a syscall, by its name in the signature or by its number from 0.
///
/// Names are those of the kernel's own definition: `write(2)` has `fd`, `buf` and `count`. An error for
/// an unknown name lists the known ones.
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

/// The instruction pointer: the address behind the instruction that made the syscall, 64 bits.
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

/// Which argument: a name, or a number from 0 to 5. Made by `into()` from either; see [`arg`].
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

/// A constant that an argument is compared with. Made by `into()` from every integer type; the
/// sign is kept until the width of the comparison is known, see [`Arg`].
///
/// ```
/// use callgate::ArgValue;
/// assert_eq!(ArgValue::from(-1).to_string(), "-1");
/// assert_ne!(ArgValue::from(-1), ArgValue::from(u64::MAX));
/// assert_eq!(ArgValue::from(4096u16).to_string(), "0x1000");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgValue(pub(super) i128);

impl fmt::Display for ArgValue {
    /// Small and negative numbers in decimal, others in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 4096 { write!(f, "{}", self.0) } else { write!(f, "{:#x}", self.0) }
    }
}

macro_rules! values {
    ($($integer:ty),*) => {$(
        impl From<$integer> for ArgValue {
            fn from(value: $integer) -> ArgValue {
                ArgValue(value.into())
            }
        }
    )*};
}

values!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<isize> for ArgValue {
    fn from(value: isize) -> ArgValue {
        ArgValue(value as i128)
    }
}

impl From<usize> for ArgValue {
    fn from(value: usize) -> ArgValue {
        ArgValue(value as i128)
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
    /// The low 32 bits alone, whatever the kernel reads.
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

    /// All 64 bits of the register, whatever the kernel reads; where registers have 32 bits, those.
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

    /// Only the bits of a mask: what is compared is `argument & mask`. A mask without bits is an error, and
    /// so is comparing for equality with a value that has other bits.
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

    /// Holds for any value: it says that the argument exists, and nothing about it.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let both = arg("fd").eq(1) & arg("buf").any();
    /// assert!(Filter::builder(Arch::X86_64).allow_if("write", both).is_ok());
    /// assert!(Filter::builder(Arch::X86_64).allow_if("write", arg(3).any()).is_err());
    /// ```
    pub fn any(self) -> Expr {
        Expr::test(self, Matcher::Any)
    }

    /// `argument == value`.
    pub fn eq(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Eq, value.into()))
    }

    /// `argument != value`.
    pub fn ne(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Ne, value.into()))
    }

    /// `argument < value`, unsigned.
    pub fn lt(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Lt, value.into()))
    }

    /// `argument <= value`, unsigned.
    pub fn le(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Le, value.into()))
    }

    /// `argument > value`, unsigned.
    pub fn gt(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Gt, value.into()))
    }

    /// `argument >= value`, unsigned.
    pub fn ge(self, value: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Ge, value.into()))
    }

    /// One of these values. An empty set never holds.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let commands = arg("cmd").is_in([1, 2, 3]);
    /// assert!(Filter::builder(Arch::X86_64).allow_if("fcntl", commands).is_ok());
    /// ```
    pub fn is_in<V: Into<ArgValue>>(self, values: impl IntoIterator<Item = V>) -> Expr {
        Expr::test(self, Matcher::In(values.into_iter().map(Into::into).collect()))
    }

    /// A value of this range, unsigned. An empty range is an error.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let error = builder.allow_if("close", arg("fd").is_in_range(9..=3)).unwrap_err();
    /// assert!(error.to_string().ends_with("the range from 9 to 3 is empty"), "{error}");
    /// ```
    pub fn is_in_range<V: Into<ArgValue> + Copy>(self, range: impl RangeBounds<V>) -> Expr {
        let first = match range.start_bound() {
            Bound::Included(first) => Some((*first).into()),
            Bound::Excluded(before) => Some(ArgValue((*before).into().0 + 1)),
            Bound::Unbounded => None,
        };
        let last = match range.end_bound() {
            Bound::Included(last) => Some((*last).into()),
            Bound::Excluded(after) => Some(ArgValue((*after).into().0 - 1)),
            Bound::Unbounded => None,
        };
        Expr::test(self, Matcher::Range { first, last })
    }

    /// No bit outside `mask`: a list of the bits that are allowed.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("pipe2", arg("flags").bits_within(0x80800))?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 293, [0, 0x800, 0, 0, 0, 0]), Verdict::ALLOW);
    /// assert_ne!(filter.verdict(Arch::X86_64, 293, [0, 0x801, 0, 0, 0, 0]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn bits_within(self, mask: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::BitsWithin(mask.into()))
    }

    /// All bits of `mask` are set.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let exec = arg("prot").has_all_bits(0x2 | 0x4); // PROT_WRITE and PROT_EXEC
    /// assert!(Filter::builder(Arch::X86_64).deny_if("mprotect", exec).is_ok());
    /// ```
    pub fn has_all_bits(self, mask: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::AllBits(mask.into()))
    }

    /// At least one bit of `mask` is set.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let namespaces = arg("unshare_flags").has_any_bit(0x7e02_0000);
    /// assert!(Filter::builder(Arch::X86_64).deny_if("unshare", namespaces).is_ok());
    /// ```
    pub fn has_any_bit(self, mask: impl Into<ArgValue>) -> Expr {
        Expr::test(self, Matcher::AnyBit(mask.into()))
    }

    /// The sign bit of the compared width is clear: a file descriptor that is not negative.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("close", arg("fd").non_negative())?.build()?;
    /// let close = |fd: i32| filter.verdict(Arch::X86_64, 3, [fd as u64, 0, 0, 0, 0, 0]);
    /// assert_eq!((close(7), close(-1)), (Verdict::ALLOW, Verdict::KILL_PROCESS));
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn non_negative(self) -> Expr {
        Expr::test(self, Matcher::NonNegative)
    }
}
