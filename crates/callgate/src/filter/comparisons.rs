//! The comparisons of [`Arg`], which return expressions.

use std::ops::{Bound, RangeBounds};

use super::arg::Arg;
use super::expr::Expr;
use super::operand::Matcher;
use super::value::ArgValue;
use super::variable::Comparand;
use callgate_core::policy::Cmp;

impl Arg {
    /// Holds for any value. It requires only that the argument exists.
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
    pub fn eq(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Eq, value.into()))
    }

    /// `argument != value`.
    pub fn ne(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Ne, value.into()))
    }

    /// `argument < value`, unsigned.
    pub fn lt(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Lt, value.into()))
    }

    /// `argument <= value`, unsigned.
    pub fn le(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Le, value.into()))
    }

    /// `argument > value`, unsigned.
    pub fn gt(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Gt, value.into()))
    }

    /// `argument >= value`, unsigned.
    pub fn ge(self, value: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::Compare(Cmp::Ge, value.into()))
    }

    /// The argument is one of these values. An empty set never holds.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, arg};
    /// let commands = arg("cmd").is_in([1, 2, 3]);
    /// assert!(Filter::builder(Arch::X86_64).allow_if("fcntl", commands).is_ok());
    /// ```
    pub fn is_in<V: Into<Comparand>>(self, values: impl IntoIterator<Item = V>) -> Expr {
        Expr::test(self, Matcher::In(values.into_iter().map(Into::into).collect()))
    }

    /// The argument is in this range, unsigned. An empty range is an error.
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

    /// No bit outside `mask` is set: an allowlist of bits.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("pipe2", arg("flags").bits_within(0x80800))?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 293, [0, 0x800, 0, 0, 0, 0]), Verdict::ALLOW);
    /// assert_ne!(filter.verdict(Arch::X86_64, 293, [0, 0x801, 0, 0, 0, 0]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn bits_within(self, mask: impl Into<Comparand>) -> Expr {
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
    pub fn has_any_bit(self, mask: impl Into<Comparand>) -> Expr {
        Expr::test(self, Matcher::AnyBit(mask.into()))
    }

    /// The sign bit of the compared width is clear: a file descriptor that is not negative.
    ///
    /// Of an `int`, only bit 31 is compared, because the kernel ignores the high half. `NonNegativeFD` of gVisor
    /// (`pkg/seccomp/seccomp_rules.go`) also requires that the high half is 0, and so denies registers whose low half is the
    /// same file descriptor for the kernel. Of 64 bits ([`Arg::u64`], or a `long`), this compares bit 63, gVisor's still
    /// requires a value below 2^31. `arg(0).u64().le(i32::MAX)` is gVisor's function for any argument of a 64-bit ABI.
    ///
    /// ```
    /// # use callgate::{Arch, Filter, Verdict, arg};
    /// let builder = Filter::builder(Arch::X86_64);
    /// let filter = builder.allow_if("close", arg("fd").non_negative())?.build()?;
    /// let close = |fd: i32| filter.verdict(Arch::X86_64, 3, [fd as u64, 0, 0, 0, 0, 0]);
    /// assert_eq!((close(7), close(-1)), (Verdict::ALLOW, Verdict::KILL_PROCESS));
    ///
    /// let builder = Filter::builder(Arch::X86_64);
    /// let gvisor = builder.allow_if("close", arg("fd").u64().le(i32::MAX))?.build()?;
    /// let with_high_half = [1 << 32 | 7, 0, 0, 0, 0, 0];
    /// assert_eq!(filter.verdict(Arch::X86_64, 3, with_high_half), Verdict::ALLOW);
    /// assert_eq!(gvisor.verdict(Arch::X86_64, 3, with_high_half), Verdict::KILL_PROCESS);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn non_negative(self) -> Expr {
        Expr::test(self, Matcher::NonNegative)
    }
}
