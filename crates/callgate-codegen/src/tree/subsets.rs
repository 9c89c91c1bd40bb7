//! Exact dynamic programming over subsets, for few intervals.
//!
//! A test splits a set of intervals into two sets: an order test cuts it in two, an equality test removes a
//! single value, and a mask may separate two classes. So the dynamic program has a state per subset, 2^n in
//! all. Above [`MAX_EXACT`] intervals it covers only subsets of [`Price::near`] consecutive intervals, which the
//! dynamic program over ranges uses.

use std::rc::Rc;

use callgate_core::diagram::Split;

use super::holes::Holes;
use super::masks;
use super::masks::{all_bits, all_share_a_bit};
use super::node::{MaskTest, Node, Tree, WeightedInterval};
use super::price::Price;

/// Up to this number of intervals, trees are optimal among those with equality tests, order tests at the bounds
/// of intervals, and masks that separate two classes.
pub(super) const MAX_EXACT: usize = 10;

/// A set of intervals: the index of the first, and a bitmap of the intervals from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Subset {
    low: usize,
    /// Bit 0, which stands for `low`, is always set.
    live: u16,
}

impl Subset {
    /// The intervals from `low` to `high` without the holes; at least one must remain.
    pub(super) fn new(low: usize, high: usize, holes: &Holes) -> Subset {
        let all = u16::MAX >> (15 - (high - low).min(15));
        Subset::shifted(low, all & !holes.first(low))
    }

    fn shifted(low: usize, live: u16) -> Subset {
        let dead = live.trailing_zeros().min(15);
        Subset { low: low + dead as usize, live: live >> dead }
    }

    /// The indexes of the intervals, in order.
    fn intervals(self) -> impl Iterator<Item = usize> + Clone {
        let next = |live: &u16| Some(*live & (*live - 1)).filter(|live| *live != 0);
        let lives = std::iter::successors(Some(self.live), next);
        lives.map(move |live| self.low + live.trailing_zeros() as usize)
    }

    /// The number of the set among those that begin at the same interval; sets of fewer intervals have smaller ones.
    fn number(self) -> usize {
        usize::from(self.live >> 1)
    }

    fn last(self) -> usize {
        self.low + 15 - self.live.leading_zeros().min(15) as usize
    }

    fn without(self, interval: usize) -> Subset {
        Subset::shifted(self.low, self.live & !(1 << (interval - self.low)))
    }

    /// The intervals before index `at`, which belongs to the set, and those from it on.
    fn split(self, at: usize) -> [Subset; 2] {
        let below = at - self.low;
        let low = Subset { low: self.low, live: self.live & ((1 << below) - 1) };
        [low, Subset { low: at, live: self.live >> below }]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Leaf,
    /// An order test; the upper part begins with this interval.
    Split(usize),
    /// An equality test of this interval.
    Equal(usize),
    AnyBit(MaskTest),
}

/// Optimal trees for all sets of intervals that are near each other.
pub(super) struct SubsetSearch {
    intervals: Rc<[WeightedInterval]>,
    price: Price,
    /// The maximum number of consecutive intervals from the first to the last of a set.
    spread: usize,
    /// The solutions of the sets that were asked for, and of those within the same intervals, by [`SubsetSearch::index`].
    solutions: Vec<Solution>,
    /// Per first interval, the number of sets that are solved, by [`Subset::number`].
    solved: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Solution {
    cost: f64,
    weight: f64,
    classes: Classes,
    /// Whether all intervals have the same class.
    uniform: bool,
    /// Whether a mask separates the classes, or the class is the same.
    separable: bool,
}

/// The classes of a set: that of the first interval, and another one.
#[derive(Clone, Copy, Debug, Default)]
struct Classes {
    other: u32,
    /// The union of the bits of the values of each.
    bits: [u32; 2],
}

impl SubsetSearch {
    pub(super) fn new(intervals: Rc<[WeightedInterval]>, price: Price) -> SubsetSearch {
        let n = intervals.len();
        let spread = if n <= MAX_EXACT { n.max(1) } else { price.near };
        let solutions = vec![Solution::default(); n << (spread - 1)];
        SubsetSearch { intervals, price, spread, solutions, solved: vec![0; n] }
    }

    /// Solves all sets of the intervals from `low` to `high`, which are within the spread.
    fn solve_within(&mut self, low: usize, high: usize) {
        let mut wide = 0_u16;
        // Tests split a set into sets that begin later, or begin at the same interval and are smaller.
        for low in (low..=high).rev() {
            wide = wide << 1 | u16::from(!self.intervals[low].is_single());
            let sets = 1 << (high - low);
            for number in self.solved[low]..sets {
                let live = (number << 1 | 1) as u16;
                // Only equality tests leave holes, so only single values are missing.
                if wide & !live & (u16::MAX >> live.leading_zeros()) == 0 {
                    let set = Subset { low, live };
                    let at = self.index(set);
                    self.solutions[at] = self.solve(set);
                }
            }
            self.solved[low] = self.solved[low].max(sets);
        }
    }

    /// Whether there are solutions for ranges of this number of intervals.
    pub(super) fn covers(&self, intervals: usize) -> bool {
        intervals <= self.spread
    }

    /// The cost of a set within the spread.
    pub(super) fn cost(&mut self, set: Subset) -> f64 {
        if self.solved[set.low] <= set.number() {
            self.solve_within(set.low, set.last());
        }
        self.at(set).cost
    }

    fn at(&self, set: Subset) -> &Solution {
        &self.solutions[self.index(set)]
    }

    fn index(&self, set: Subset) -> usize {
        set.low << (self.spread - 1) | set.number()
    }

    /// The solution of a set, from those of smaller sets.
    fn solve(&self, set: Subset) -> Solution {
        let last = set.last();
        let interval = &self.intervals[last];
        let own = all_bits(interval.first, interval.last);
        if last == set.low {
            let classes = Classes { other: interval.class as u32, bits: [own, 0] };
            let weight = interval.weight;
            return Solution { cost: 0.0, weight, classes, uniform: true, separable: true };
        }
        let before = self.at(set.without(last));
        let weight = before.weight + interval.weight;
        let first = self.intervals[set.low].class;
        let uniform = before.uniform && interval.class == first;
        let mut classes = before.classes;
        let mut few = true;
        if interval.class == first {
            classes.bits[0] |= own;
        } else {
            let class = interval.class as u32;
            few = before.uniform || class == classes.other;
            classes.other = class;
            classes.bits[1] |= own;
        }
        // A mask that separates a set also separates each subset.
        let separable = self.price.masks
            && few
            && before.separable
            && self.at(set.without(set.low)).separable
            && (uniform || set.live.count_ones() == 2 || self.is_separable(set, &classes));
        let cost = match uniform {
            true => 0.0,
            false => self.rest(set, weight, separable) + weight + self.price.size,
        };
        Solution { cost, weight, classes, uniform, separable }
    }

    /// Whether a mask separates the two classes of a set: the largest mask without bits of the other class decides
    /// ([`masks`]).
    fn is_separable(&self, set: Subset, classes: &Classes) -> bool {
        let first = self.intervals[set.low].class;
        let (mut of_first, mut of_other) = (true, true);
        for interval in set.intervals().map(|at| &self.intervals[at]) {
            if interval.class == first {
                of_first &= all_share_a_bit(interval.first, interval.last, !classes.bits[1]);
            } else {
                of_other &= all_share_a_bit(interval.first, interval.last, !classes.bits[0]);
            }
            if !of_first && !of_other {
                return false;
            }
        }
        true
    }

    /// The cost of a set of this weight besides its first instruction.
    fn rest(&self, set: Subset, weight: f64, separable: bool) -> f64 {
        let mask = self.price.of_mask_above_comparison(weight);
        match separable {
            true if mask == 0.0 => 0.0,
            true => self.cheapest(set).0.min(mask),
            false => self.cheapest(set).0,
        }
    }

    fn mask_test(&self, set: Subset) -> Option<MaskTest> {
        masks::mask_test(set.intervals().map(|interval| &self.intervals[interval]))
    }

    /// The comparison with the lowest cost of its two parts, and that cost.
    fn cheapest(&self, set: Subset) -> (f64, Choice) {
        let mut best = (f64::INFINITY, Choice::Leaf);
        for at in set.intervals().skip(1) {
            let [low, high] = set.split(at);
            let cost = self.at(low).cost + self.at(high).cost;
            if cost < best.0 {
                best = (cost, Choice::Split(at));
            }
        }
        for single in set.intervals().filter(|interval| self.intervals[*interval].is_single()) {
            let cost = self.at(set.without(single)).cost;
            if cost < best.0 {
                best = (cost, Choice::Equal(single));
            }
        }
        best
    }

    fn choice(&self, set: Subset) -> Choice {
        let solution = self.at(set);
        if solution.uniform {
            return Choice::Leaf;
        }
        let (cost, choice) = self.cheapest(set);
        let mask = self.price.of_mask_above_comparison(solution.weight);
        match self.mask_test(set).filter(|_| solution.separable && cost > mask) {
            Some(test) => Choice::AnyBit(test),
            None => choice,
        }
    }

    /// Adds the optimal tree of a set whose cost was asked for. The recursion ends because each part is smaller.
    pub(super) fn emit(&self, set: Subset, tree: &mut Tree) -> usize {
        match self.choice(set) {
            Choice::Leaf => tree.leaf(self.intervals[set.low].class),
            Choice::Split(at) => {
                let [low, high] = set.split(at);
                let otherwise = self.emit(low, tree);
                let then = self.emit(high, tree);
                let split = Split::AtLeast(self.intervals[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit(set.without(single), tree);
                tree.equal(&self.intervals[single], otherwise)
            }
            Choice::AnyBit(test) => tree.any_bit(test),
        }
    }
}
