//! Constants that arguments are compared with.

use std::fmt;

/// A constant that an argument is compared with. Every integer type converts into it; the sign is preserved until the
/// width of the comparison is known, see [`Arg`](crate::Arg).
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
