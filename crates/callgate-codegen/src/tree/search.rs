//! The search for a tree over any number of intervals.
//!
//! Above [`Price::whole`] intervals, the range is cut into halves of equal weight until the dynamic program over
//! ranges applies.

use super::dominant::dominant;
use super::interval::WeightedInterval;
use super::node::{Node, Tree};
use super::price::Price;
use super::quick::quick_tree;
use super::range_search::RangeSearch;
use super::rounding::Rounding;
use callgate_proof::diagram::Split;

/// The cheapest tree found, or a good one if the price asks for no search, for intervals that cover all values, in order
/// and without gaps.
pub(crate) fn search_tree(intervals: &[WeightedInterval], price: Price) -> Tree {
    let mut tree = Tree::default();
    let root = if price.is_quick && intervals.len() > QUICK_EXACT {
        quick_tree(intervals, price, &mut tree)
    } else {
        // An exact tree of a few intervals takes less time than an estimate of more.
        let total = intervals.iter().map(|interval| interval.weight).sum();
        let mut parts = Parts { price, rounding: Rounding::of_total(total), last: None };
        parts.cut(intervals, &mut tree)
    };
    // The root is always added last; a leaf can only be the root if it is the only node.
    debug_assert_eq!(root + 1, tree.nodes.len());
    tree
}

/// The maximum number of intervals for which trees are searched for although the price asks for no search.
const QUICK_EXACT: usize = 5;

/// The search for the trees of the parts.
struct Parts {
    price: Price,
    rounding: Rounding,
    /// That of the last part: parts often have ranges in common.
    last: Option<RangeSearch>,
}

impl Parts {
    /// Cuts a range into halves of equal weight until the dynamic program applies.
    fn cut(&mut self, intervals: &[WeightedInterval], tree: &mut Tree) -> usize {
        let price = self.price;
        let total: f64 = intervals.iter().map(|interval| interval.weight).sum();
        if intervals.len() <= price.whole {
            let mut search = RangeSearch::new(intervals, price, self.rounding, self.last.as_ref());
            let root = search.build(tree);
            self.last = Some(search);
            return root;
        }
        if let Some(at) = dominant(intervals, total, price) {
            let rest = [&intervals[..at], &intervals[at + 1..]].concat();
            let otherwise = self.cut(&rest, tree);
            tree.cost += total + price.size;
            return tree.equal(&intervals[at], otherwise);
        }
        // A small weight per interval, so that ranges without weight are halved, too.
        let share = |interval: &WeightedInterval| {
            interval.weight / total.max(f64::MIN_POSITIVE) + 0.1 / intervals.len() as f64
        };
        let mut left = 0.0;
        let mut at = 1;
        for (i, interval) in
            intervals.iter().enumerate().take(intervals.len() - intervals.len() / 16)
        {
            left += share(interval);
            at = i + 1;
            // Both parts have at least a sixteenth of the intervals, so the depth is logarithmic.
            if left >= 0.55 && at >= intervals.len() / 16 {
                break;
            }
        }
        let (low, high) = intervals.split_at(at);
        let otherwise = self.cut(low, tree);
        let then = self.cut(high, tree);
        let first = high.first().map_or(0, |interval| interval.first);
        tree.cost += total + price.size;
        tree.push(Node::Test { split: Split::AtLeast(first), then, otherwise })
    }
}
