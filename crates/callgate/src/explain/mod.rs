//! What happens to which call, for people.
//!
//! A filter's function is read back from the diagram: so an explanation is of what a program *does*,
//! whoever wrote it, and equal filters have equal explanations. Conditions on arguments come out as
//! an ordered list of [`Clause`]s of which the first that applies decides.

mod condition;
mod explanation;
mod read;

pub use condition::{ArgPart, Clause, ValueCondition, ValueSet};
pub use explanation::{ArchExplanation, Explanation, Group, Outcome};
pub use read::explain;
