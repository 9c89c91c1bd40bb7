//! Queries on decision diagrams that the proof does not need.

mod arguments;
mod branches;
mod condition;
mod cover;
mod difference;
mod found;
mod independent;
mod orders;
mod partition;
mod permitted;
mod product_bound;
mod quantified;
mod reach;
mod reorder;
mod restrict;
#[cfg(test)]
mod tests;
mod value_words;
mod word_funcs;
mod words;

pub use branches::{Exceptions, MAX_EXITS, MAX_INTERVALS, branches, exceptions};
pub use condition::{ArgPart, Branch, Clause, ValueCondition, ValueSet, argument_names};
pub use cover::{Cube, Product, cover, few_cubes, has_verdict, products, support};
pub use difference::{Difference, differences};
pub use found::{syscall_with, witness};
pub use independent::{any_pair, can_return, compares_words, has_comparisons};
pub(crate) use orders::WordGraph;
pub use partition::{Interval, partition};
pub(crate) use partition::{OnlyValue, nodes_of, only_value, partition_within};
pub use permitted::{permitted, permitted_syscalls};
pub(crate) use product_bound::ProductBound;
pub use quantified::{Quantifier, quantified, share};
pub use reach::{Reach, Reachable, example, reach};
pub(crate) use reorder::word_first;
pub use restrict::restrict;
pub(crate) use word_funcs::{Size, WordFunc, WordFuncs};
