//! Search trees: the cheapest way to find the interval that contains the value of a word, by tests with two
//! outcomes (`jeq`, `jge`, masks and bitset tests).
//!
//! This is the optimal binary search tree with two-way comparisons (Anderson, Kannan, Karloff and
//! Ladner 2002; Chrobak, Golin, Munro and Young 2015), with three extensions: intervals of the same class need not
//! be distinguished, each comparison also costs its size, and masks may separate values.
//!
//! - [`subsets`]: exact dynamic programming up to [`subsets::MAX_EXACT`] intervals, over all sets of intervals that
//!   comparisons may leave;
//! - [`ranges`]: dynamic programming over ranges, for more intervals. It is exact if no value is tested for equality
//!   before the range is small, and close to the optimum otherwise. Equality tests leave ranges with [`holes`];
//!   [`plain_costs`] has a lower bound that avoids most of these. [`equality`] chooses the equality tests;
//! - [`boundaries`]: the few interval boundaries at which [`ranges`] tries order tests;
//! - [`masks`]: the masks that separate classes;
//! - [`pieces`]: few values of arguments, with masks before other tests;
//! - [`search`]: any number of intervals; cuts ranges in halves until one of the methods above applies;
//! - [`quick`]: a good tree in almost linear time, without the methods above;
//! - [`node`]: trees, bitset tests of up to 32 values by a constant, and the code of a tree.

mod boundaries;
mod chain;
mod equality;
mod holes;
mod masks;
mod node;
mod pieces;
mod plain_costs;
mod price;
mod quick;
mod ranges;
mod search;
mod subsets;

pub(super) use masks::mask_test;
pub(super) use node::{MaskTest, Node, Tree, WeightedInterval, tree_code};
pub(super) use pieces::tree_of_pieces;
pub(super) use price::{ARGUMENT_WHOLE, Price};
pub(super) use search::{MAX_INTERVALS, search_tree};

#[cfg(test)]
mod tests;
