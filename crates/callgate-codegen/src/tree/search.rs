//! The search for a tree over any number of intervals.
//!
//! Above [`Price::whole`] intervals, order tests are only tried at some [`boundaries`]. If there are still too many, the range
//! is cut there into halves of equal weight until the dynamic program over ranges applies.

use callgate_core::diagram::Split;

use super::boundaries::boundaries;
use super::chain::WholeChain;
use super::holes::Holes;
use super::node::{Node, Tree, WeightedInterval, bitset_cost};
use super::price::{MAX_WHOLE, Price};
use super::quick::{dominant, quick_tree};
use super::ranges::RangeSearch;
use super::subsets::{MAX_EXACT, Subset, SubsetSearch};

/// The cheapest tree found, or a good one if the price asks for no search, for intervals that cover all values, in order
/// and without gaps.
pub(crate) fn search_tree(intervals: &[WeightedInterval], price: Price) -> Tree {
    let mut tree = Tree::default();
    let root = if price.is_quick && intervals.len() > QUICK_EXACT {
        quick_tree(intervals, price, &mut tree)
    } else {
        // An exact tree of a few intervals takes less time than an estimate of more.
        let intervals = rounded(intervals);
        let most = if intervals.len() <= MAX_WHOLE { MAX_STARTS } else { MAX_STARTS_OF_PART };
        let starts = starts_of(&intervals, price);
        Search { price, most, tree: &mut tree }.cut(&intervals, &starts)
    };
    // The root is always added last; a leaf can only be the root if it is the only node.
    debug_assert_eq!(root + 1, tree.nodes.len());
    tree
}

/// The maximum number of intervals of a word for which a search tree is built. It is far above what fits into a
/// program: a test removes at most two bounds of intervals. Filters above the kernel's limit still get a program up
/// to here, so that the error can report how many instructions they need.
pub(crate) const MAX_INTERVALS: usize = 1 << 15;

/// The maximum number of starts of ranges in the dynamic program over ranges.
const MAX_STARTS: usize = 96;

/// The same if there are more than [`MAX_WHOLE`] intervals, so that the range must be cut anyway.
const MAX_STARTS_OF_PART: usize = 64;

/// The maximum number of intervals for which trees are searched for although the price asks for no search.
const QUICK_EXACT: usize = 5;

struct Search<'t> {
    price: Price,
    /// The maximum number of starts in the dynamic program.
    most: usize,
    tree: &'t mut Tree,
}

impl Search<'_> {
    /// Cuts a range into halves of equal weight until the dynamic program applies. Order tests are only tried before the
    /// intervals with the indexes `starts`, of which the first is 0.
    fn cut(&mut self, intervals: &[WeightedInterval], starts: &[usize]) -> usize {
        let price = self.price;
        if intervals.len() <= MAX_EXACT {
            return self.exact(intervals);
        }
        let is_full = starts.len() == intervals.len() && intervals.len() <= price.whole;
        if is_full || starts.len() <= self.most && intervals.len() <= MAX_WHOLE {
            let mut search = RangeSearch::new(intervals, starts, price);
            if search.total().is_finite() {
                return search.build(self.tree);
            }
            // A part is not decided as expected.
            let starts: Vec<usize> = (0..intervals.len()).collect();
            return RangeSearch::new(intervals, &starts, price).build(self.tree);
        }
        let total: f64 = intervals.iter().map(|interval| interval.weight).sum();
        if let Some(at) = dominant(intervals, total, price) {
            let rest = [&intervals[..at], &intervals[at + 1..]].concat();
            let otherwise = self.cut(&rest, &starts_of(&rest, price));
            self.tree.cost += total + price.size;
            return self.tree.equal(&intervals[at], otherwise);
        }
        let (nodes, cost) = (self.tree.nodes.len(), self.tree.cost);
        let root = self.halves(intervals, starts, total);
        match WholeChain::new(intervals, price) {
            // An order test between long chains takes two more instructions, because of the reach of jumps: a `ja` to the
            // second one, and a return behind each.
            Some(chain) if chain.cost < self.tree.cost - cost + 2.0 * price.size => {
                self.tree.nodes.truncate(nodes);
                self.tree.cost = cost;
                chain.emit(self.tree)
            }
            _ => root,
        }
    }

    /// Adds an order test that cuts a range of this weight into halves of about equal weight, and the trees of the halves.
    fn halves(&mut self, intervals: &[WeightedInterval], starts: &[usize], total: f64) -> usize {
        // A small weight per interval, so that ranges without weight are halved, too.
        let share = |interval: &WeightedInterval| {
            interval.weight / total.max(f64::MIN_POSITIVE) + 0.1 / intervals.len() as f64
        };
        let mut left = 0.0;
        let mut at = 1;
        let sixteenth = intervals.len() / 16;
        for (i, interval) in intervals.iter().enumerate().take(intervals.len() - sixteenth) {
            left += share(interval);
            at = i + 1;
            // Both parts have at least a sixteenth of the intervals, so the depth is logarithmic.
            if left >= 0.55 && at >= sixteenth {
                break;
            }
        }
        let middle = starts.partition_point(|start| *start < at).min(starts.len() - 1).max(1);
        let at = starts.get(middle).copied().unwrap_or(at);
        let (low, high) = intervals.split_at(at);
        let (low_starts, high_starts) = starts.split_at(middle);
        let high_starts: Vec<usize> = high_starts.iter().map(|start| start - at).collect();
        let otherwise = self.cut(low, low_starts);
        let then = self.cut(high, &high_starts);
        let first = high.first().map_or(0, |interval| interval.first);
        self.tree.cost += total + self.price.size;
        self.tree.push(Node::Test { split: Split::AtLeast(first), then, otherwise })
    }

    /// Adds the tree of a few intervals, the optimal one or a bitset test.
    fn exact(&mut self, intervals: &[WeightedInterval]) -> usize {
        let mut search = SubsetSearch::new(intervals.into(), self.price);
        let all = Subset::new(0, intervals.len().saturating_sub(1), &Holes::NONE);
        let cost = search.cost(all);
        let weight = intervals.iter().map(|interval| interval.weight).sum();
        match bitset_cost(intervals, weight, self.price).filter(|of_bitset| *of_bitset < cost) {
            Some(of_bitset) => {
                self.tree.cost += of_bitset;
                self.tree.bitset(intervals)
            }
            None => {
                self.tree.cost += cost;
                search.emit(all, self.tree)
            }
        }
    }
}

/// The indexes of the intervals before which order tests are tried.
fn starts_of(intervals: &[WeightedInterval], price: Price) -> Vec<usize> {
    if intervals.len() > price.whole {
        boundaries(intervals, price)
    } else {
        (0..intervals.len()).collect()
    }
}

/// The same intervals with weights rounded to multiples of a power of two, such that sums of them are exact: ranges with equal
/// weights have equal sums, wherever they are, so that of equal trees the same one is chosen. A weight changes by at most 2^-48 of
/// the total.
fn rounded(intervals: &[WeightedInterval]) -> Vec<WeightedInterval> {
    let total: f64 = intervals.iter().map(|interval| interval.weight).sum();
    // The least significant bit of this number is the unit. The sum of up to 2^52 units is exact.
    let large = 16.0 * total;
    let rounded =
        |of: &WeightedInterval| WeightedInterval { weight: (of.weight + large) - large, ..*of };
    intervals.iter().map(rounded).collect()
}
