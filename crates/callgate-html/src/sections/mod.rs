//! The sections of a report.
//!
//! Each is a function from results of the analysis to a [`Section`](crate::Section).

mod abilities;
mod arguments;
mod comparison;
mod cost;
mod decisions;
mod filter;
mod findings;
mod listing;
mod map;
mod summary;

pub use arguments::arguments;
pub use comparison::{Comparison, comparison};
pub use cost::{Cost, ProgramCost, cost};
pub use decisions::decisions;
pub use filter::Subject;
pub use findings::{Finding, findings};
pub use listing::program;
pub use map::map;
pub use summary::summary;
