//! Search trees: the cheapest way to find the interval that contains the value of a word, by tests with two
//! outcomes (`jeq`, `jge`, masks and bitset tests).
//!
//! This is the optimal binary search tree with two-way comparisons (Anderson, Kannan, Karloff and
//! Ladner 2002; Chrobak, Golin, Munro and Young 2015), with three extensions: intervals of the same class need not
//! be distinguished, each comparison also costs its size, and masks may separate values.
//!
//! - [`subsets`]: exact dynamic programming up to [`subsets::MAX_EXACT`] intervals, over all sets of intervals that
//!   comparisons may leave;
//! - [`ranges`]: more intervals, by dynamic programming over ranges. It is exact if no value is tested for equality
//!   before the range is small, and close to the optimum otherwise.
//!   Equality tests leave ranges with holes: [`holed`] has their solutions, and [`plain_costs`] a lower bound that spares
//!   most of them. [`range_search`] is its state, [`equality`] and [`masked`] are two of its choices, [`emit`] builds the
//!   tree;
//! - [`boundaries`]: the few intervals of many at which the former tries order tests;
//! - [`masks`]: the masks that separate classes;
//! - [`pieces`]: few values of arguments, with masks before other tests;
//! - [`bitset`]: tests of up to 32 values by a constant;
//! - [`search`]: any number of intervals; cuts ranges in halves until one of the former applies. [`rounding`] makes sums of
//!   weights exact;
//! - [`quick`]: a good tree in almost linear time, without any of the former;
//! - [`code`]: the code of a tree.

mod bitset;
mod boundaries;
mod chain;
mod code;
mod dominant;
mod emit;
mod equality;
mod holed;
mod holes;
mod interval;
mod mask_bounds;
mod masked;
mod masks;
mod node;
mod pieces;
mod plain_costs;
mod price;
mod quick;
mod range_search;
mod ranges;
mod ranks;
mod rounding;
mod search;
mod subsets;

pub(super) use code::tree_code;
pub(super) use interval::WeightedInterval;
pub(super) use masks::{MaskTest, mask_test};
pub(super) use node::{Node, Tree};
pub(super) use pieces::tree_of_pieces;
pub(super) use price::{ARGUMENT_WHOLE, Price};
pub(super) use search::search_tree;

#[cfg(test)]
mod tests;
