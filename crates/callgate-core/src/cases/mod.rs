//! The proof by cases: a second, quicker way to prove that a program means what a policy says, for policies and programs
//! without unusual conditions.
//!
//! It needs no MTBDD. A policy becomes [`Cases`]: intervals of syscall numbers, each with an ordered list of [`Clause`]s,
//! which are conjunctions of [comparisons of words](WordTest). A rule about several arguments whose comparisons have alternatives, as
//! those of 64 bits, has clauses for what excludes it, instead of one for each combination. The proof follows every path of the program, and collects what
//! the branches say about the words. First it does so for all numbers of an arch together, up to the first other word: an interval is
//! decided if its verdict does not depend on arguments, and all paths that its numbers may take return that verdict. The paths
//! of every other interval are followed alone. At each return, the clauses are evaluated with what is known: every clause that
//! may be the first to hold must have the returned verdict. Where the knowledge does not suffice, the case is split in two.
//! Where that takes too many steps, ends of the program that several paths reach are proved on their own, for all that remains of
//! the clauses there.
//!
//! All of this errs on the safe side: what is not known counts as possible. So the result is either a proof, or nothing, which
//! says nothing about the program. [`Meaning::prove`](crate::Meaning::prove) then decides.
//!
//! - `clauses`: from the rules of a policy to clauses and lists, each of which is stored once (`clause_table`, `distinct`);
//! - `knowledge`: what is known about the words on a path;
//! - `follow`: the paths of a program;
//! - `word_comparison`, `types`: comparisons of words, and the public types.

mod clause_table;
mod clauses;
mod distinct;
mod follow;
mod knowledge;
mod types;
mod word_comparison;

#[cfg(test)]
mod tests;

pub use clause_table::Clause;
pub use types::{Cases, NumberInterval, SectionCases};
pub use word_comparison::{Literal, WordTest, are_alternatives, is_informed};
