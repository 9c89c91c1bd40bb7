//! Code from clauses: the plan of [`Aim::Quick`](crate::Aim::Quick) for policies with usual conditions, without MTBDD.
//!
//! ```text
//! clauses ──lists──> code graph ──layout──> instructions
//!              │  the dispatch of arch and number is that of the other plans
//!              └─ the values of a word, each with the clauses that remain
//! ```
//!
//! The arguments of a syscall are decided one word after the other, as the first clause demands. The clauses that remain for a
//! value, without the literals that hold, are a list again, and equal lists have the same code. [`order`] says which word is next.
//!
//! [`in_order`] makes the code of lists that any plan tests clause after clause. [`short`] makes short filters directly, from the last
//! instruction on, with [`conditions`] on arguments that are values of one word or tested in order.

mod arrangement;
mod conditions;
mod generate;
mod in_order;
mod lists;
mod literals;
mod numbers;
mod order;
mod short;
mod values;

pub(crate) use arrangement::MAX_SAMPLES;
pub use generate::generate_by_cases;
pub(crate) use lists::Lists;
pub use lists::Repeating;
