//! Code from clauses: the plan of [`Aim::Quick`](crate::Aim::Quick) for policies with usual conditions, without MTBDD.
//!
//! ```text
//! clauses ──lists──> code graph ──layout──> instructions
//!              │  the dispatch of arch and number is that of the other plans
//!              └─ the values of a word, each with the clauses that remain
//! ```
//!
//! The arguments of a syscall are decided one word after the other, as the first clause demands. The clauses that remain for a
//! value, without the literals that hold, are a list again, and equal lists have the same code.
//!
//! [`short`] makes short filters without conditions on arguments directly, from the last instruction on.

mod conditions;
mod generate;
mod in_order;
mod lists;
mod short;

pub use generate::generate_by_cases;
pub use lists::Repeating;
