//! Matchers: what an argument is compared with.

use super::value::ArgValue;
use super::variable::Comparand;
use callgate_core::policy::Cmp;

/// The comparison of an argument.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Any,
    Compare(Cmp, Comparand),
    In(Vec<Comparand>),
    Range { first: Option<ArgValue>, last: Option<ArgValue> },
    BitsWithin(Comparand),
    AllBits(ArgValue),
    AnyBit(Comparand),
    NonNegative,
}
