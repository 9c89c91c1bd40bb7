//! Queries on decision diagrams that the proof does not need.

mod branches;
mod condition;
mod cover;
mod difference;
mod orders;
mod partition;
mod permitted;
mod product_bound;
mod quantified;
mod reach;
mod reorder;
#[cfg(test)]
mod tests;
mod value_words;
mod word_funcs;
mod words;

pub use branches::{Branch, Exceptions, MAX_EXITS, MAX_INTERVALS, branches, exceptions};
pub use condition::{ArgPart, Clause, ValueCondition, ValueSet, argument_names};
pub use cover::{Cube, Product, cover, few_cubes, has_verdict, products, support};
pub use difference::{Difference, differences};
pub(crate) use orders::WordGraph;
pub use partition::{Interval, partition};
pub(crate) use partition::{OnlyValue, nodes_of, only_value, partition_within};
pub use permitted::{permitted, permitted_syscalls};
pub(crate) use product_bound::ProductBound;
pub use quantified::{Quantifier, quantified, share};
pub use reach::{Reach, Reachable, example, reach};
pub(crate) use reorder::word_first;
pub(crate) use word_funcs::{Size, WordFunc, WordFuncs};
