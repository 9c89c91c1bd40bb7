//! The views of the page.

mod compare;
mod convert;
mod explanation;
mod findings;
mod program;
mod shown;
mod simulate;

pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use explanation::explanation;
pub(crate) use findings::findings;
pub(crate) use program::program;
pub(crate) use shown::Shown;
pub(crate) use simulate::simulate;
