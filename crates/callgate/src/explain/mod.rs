//! Explanations: what a filter does with each syscall, in readable form.
//!
//! An explanation is derived from the diagram. So it describes what a program *does*, regardless of its source, and
//! equal filters have equal explanations. Conditions on arguments are an ordered list of [`Clause`]s; the first that
//! applies decides.

mod explanation;
mod permission;
mod read;

pub use callgate_codegen::query::{ArgPart, Clause, ValueCondition, ValueSet, argument_names};
pub use explanation::{ArchExplanation, Explanation, Group, Outcome};
pub use permission::Permission;
pub use read::explain;
