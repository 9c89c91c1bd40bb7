//! Explanations: what a filter does with each syscall, in readable form.
//!
//! An explanation is derived from the diagram. So it describes what a program *does*, regardless of its source, and
//! equal filters have equal explanations. Conditions on arguments are an ordered list of [`Clause`]s; the first that
//! applies decides. An [`Explanation`] is displayed as the text of `callgate explain`.

mod explanation;
mod permission;
mod read;
mod text;

pub use callgate_codegen::query::{ArgPart, Clause, ValueCondition, ValueSet, argument_names};
pub use explanation::{ArchExplanation, Explanation, Group, Outcome};
pub use permission::Permission;
pub use read::{explain, outcome};
pub use text::{
    Listed, Mark, Order, Paint, Part, RulePlaces, TextOptions, always, cases, lines, listed,
    names_of, painted, parts, ranges, remark, unnamed,
};
