//! The views of the page.

mod change;
mod compare;
mod convert;
mod denied;
mod filter;
mod simulate;
mod steps;

pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use denied::{denials, denied, is_log};
pub(crate) use filter::{Shown, explanation, findings, program};
pub(crate) use simulate::simulate;
