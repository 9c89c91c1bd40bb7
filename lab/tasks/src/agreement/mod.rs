//! What evaluations of readers share: a reader and the compiler of its language get the same texts, and must agree on
//! their meaning.
//!
//! [`options`]: the command line; [`outcome`]: one text compared; [`counts`]: the results; [`texts`]: given files, then
//! random texts.

mod counts;
mod options;
mod outcome;
mod texts;

pub(crate) use counts::Counts;
pub(crate) use options::{Accepted, Options};
pub(crate) use outcome::Outcome;
pub(crate) use texts::{compare_all, compare_on_this_machine};
