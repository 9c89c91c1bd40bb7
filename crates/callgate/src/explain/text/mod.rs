//! Explanations as text: a summary, notes, and a list of syscalls per architecture.

mod headline;
mod layout;
mod options;
mod outcome;
mod parts;
mod table;
mod write;

pub use headline::{names_of, remark};
pub use options::{Mark, Order, Paint, RulePlaces, TextOptions};
pub use outcome::{always, cases, lines, painted, unnamed};
pub use parts::{Listed, Part, listed, parts};
pub use table::ranges;
