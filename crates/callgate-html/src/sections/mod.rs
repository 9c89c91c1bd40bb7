//! The sections of a report.
//!
//! Each is a function from results of the analysis to a [`Section`](crate::Section).

mod arguments;
mod comparison;
mod cost;
mod findings;
mod map;
mod program;
mod summary;

pub use crate::describe::Subject;
pub use arguments::arguments;
pub use comparison::{Comparison, comparison};
pub use cost::{Cost, ProgramCost, cost};
pub use findings::{Finding, findings};
pub use map::map;
pub use program::{decisions, program};
pub use summary::summary;
