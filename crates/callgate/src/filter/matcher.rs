//! Matchers: what an argument is compared with.

use super::value::ArgValue;
use callgate_proof::policy::Cmp;

/// The comparison of an argument.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Any,
    Compare(Cmp, ArgValue),
    In(Vec<ArgValue>),
    Range { first: Option<ArgValue>, last: Option<ArgValue> },
    BitsWithin(ArgValue),
    AllBits(ArgValue),
    AnyBit(ArgValue),
    NonNegative,
}
