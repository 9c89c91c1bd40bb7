//! The views of the page.

mod compare;
mod convert;
mod filter;
mod simulate;

pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use filter::{Shown, explanation, findings, program};
pub(crate) use simulate::simulate;
