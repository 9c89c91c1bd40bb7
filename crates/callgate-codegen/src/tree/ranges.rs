//! Dynamic programming over ranges of consecutive intervals.
//!
//! It chooses between
//! - the solution of [`SubsetSearch`], for short ranges,
//! - an order test that splits the range,
//! - an equality test of the heaviest remaining single value, if it is heavy enough to come first (an optimal
//!   tree tests the heaviest single value first),
//! - a chain of equality tests, if all intervals but some single values have the same class,
//! - a chain of equality tests before a mask that separates the rest,
//! - a bitset test, where allowed.

use std::rc::Rc;

use callgate_core::diagram::Split;

use super::chain::ChainBound;
use super::holes::{HoledRanges, Holes, Range, Ranks};
use super::masks::{self, MAX_MASKED, MaskClasses};
use super::node::{MAX_BITSET, Node, Tree, WeightedInterval, bitset_cost};
use super::plain_costs::PlainCosts;
use super::price::Price;
use super::subsets::{Subset, SubsetSearch};

/// Makes a sum of costs a lower bound despite rounding, so that of equal trees the same one is chosen.
pub(super) const ROUNDED_DOWN: f64 = 1.0 - 1e-9;

/// The minimum share of the weight with which a single value is tested for equality before an order test. Below it,
/// a split is cheaper.
const HEAVY: f64 = 0.2;

/// The same in a range whose order tests are only tried at some intervals: there, it would mostly save nothing.
const HEAVY_AMONG_MANY: f64 = 0.34;

/// The minimum share of a search over `intervals`, in which order tests are tried before `starts` of them.
fn heavy(starts: usize, intervals: usize) -> f64 {
    if starts == intervals { HEAVY } else { HEAVY_AMONG_MANY }
}

/// By which share a bound of ranges with holes is raised, because the bound from their pieces is not rigorous.
const SLACK: f64 = 0.1;

/// A bound above which a range with holes is not solved.
pub(super) fn above(bound: f64) -> f64 {
    bound + bound.abs() * SLACK
}

/// A compact form, because there is one per range. Intervals are relative to the first one of the range, which has at
/// most [`Price::whole`] intervals.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Choice {
    Leaf,
    Exact,
    /// The cheapest order test of a range without holes.
    CheapestSplit,
    /// An order test; the upper part begins with this interval.
    Split(u16),
    /// An equality test of this interval.
    Equal(u16),
    Chain,
    Masked,
    Bitset,
}

pub(super) struct RangeSearch {
    pub(super) intervals: Rc<[WeightedInterval]>,
    pub(super) price: Price,
    /// The intervals at which order tests may split ranges, and the first one.
    pub(super) starts: Rc<[usize]>,
    /// The minimum share of the weight of a single value that is tested for equality first.
    pub(super) heavy: f64,
    pub(super) exact: SubsetSearch,
    /// Per interval, the sum of the weights before it.
    pub(super) before: Vec<f64>,
    /// For ranges without holes, the choices by `low * n + high`.
    pub(super) choices: Vec<Choice>,
    pub(super) costs: PlainCosts,
    /// Per interval, the last interval of the longest chain from there.
    chain_end: Vec<usize>,
    pub(super) ends: Vec<End>,
    /// Per interval, the bound of the longest range from there in which a mask was searched for.
    mask_bounds: Vec<MaskBound>,
    /// Per interval, the two classes that a mask may separate from there up to the current end.
    mask_classes: Vec<MaskClasses>,
    /// Per interval, the first one from there that is not a single value.
    pub(super) first_wide: Vec<usize>,
    /// The single values, the heaviest first.
    pub(super) ranks: Ranks,
    /// The solutions of ranges with holes for which [`RangeSearch::exact`] has none.
    pub(super) holed: HoledRanges<Choice>,
}

/// The minimum number of single values that are tested before a mask which separates two classes.
#[derive(Clone, Copy, Default)]
struct MaskBound {
    classes: [usize; 2],
    singles: u32,
}

/// What is known of the intervals from one on up to a current end.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The interval after the end.
    pub(super) next: usize,
    /// A bound of the cost of a chain.
    pub(super) chain: ChainBound,
}

impl RangeSearch {
    /// The solutions of all ranges that begin and end at `starts`, or end last.
    pub(super) fn new(
        intervals: &[WeightedInterval],
        starts: &[usize],
        price: Price,
    ) -> RangeSearch {
        let intervals: Rc<[WeightedInterval]> = intervals.into();
        let mut before = vec![0.0];
        let mut sum = 0.0;
        for interval in intervals.iter() {
            sum += interval.weight;
            before.push(sum);
        }
        let n = intervals.len();
        let mut ranges = RangeSearch {
            exact: SubsetSearch::new(Rc::clone(&intervals), price),
            price,
            before,
            choices: vec![Choice::CheapestSplit; starts.len() * starts.len()],
            costs: PlainCosts::new(starts, n),
            chain_end: chain_ends(&intervals, price),
            ends: (0..n).map(|next| End { next, chain: ChainBound::default() }).collect(),
            mask_bounds: vec![MaskBound::default(); n],
            mask_classes: vec![MaskClasses::default(); n],
            first_wide: vec![n; n],
            ranks: Ranks::new(&intervals),
            holed: HoledRanges::new(starts.len() * starts.len()),
            starts: starts.into(),
            heavy: heavy(starts.len(), n),
            intervals,
        };
        let mut first_wide = n;
        for (at, interval) in ranges.intervals.iter().enumerate().rev() {
            first_wide = if interval.is_single() { first_wide } else { at };
            ranges.first_wide[at] = first_wide;
        }
        ranges.solve();
        ranges
    }

    /// The cost of the whole range.
    pub(super) fn total(&self) -> f64 {
        self.costs.get(0, self.intervals.len())
    }

    fn solve(&mut self) {
        let units = self.units();
        let bitset = if self.price.bitset_tests { MAX_BITSET } else { 0 };
        for (last, end) in units.iter().map(|unit| unit.end).enumerate() {
            let (before_end, last_value) = (self.before[end], self.intervals[end - 1].last);
            let mut heaviest = 0.0_f64;
            for first in (0..last + 1).rev() {
                let unit = &units[first];
                heaviest = if unit.heaviest > heaviest { unit.heaviest } else { heaviest };
                let weight = before_end - unit.before;
                // Too long for anything but an order test.
                let is_only_split = end - unit.low > MAX_MASKED
                    && end > unit.chain_end + 1
                    && !self.is_heavy(heaviest, weight)
                    && last_value - unit.first >= bitset;
                if is_only_split {
                    let test = weight + self.price.size;
                    self.costs.set(first, last, self.costs.cheapest_split(first, last) + test);
                } else {
                    let (cost, choice) = self.best_plain(unit.low, end - 1, heaviest);
                    self.costs.set(first, last, cost);
                    self.choices[first * units.len() + last] = choice;
                }
            }
        }
    }

    /// What the dynamic program needs of each unit, the intervals from one start to the next.
    fn units(&self) -> Vec<Unit> {
        let ends = self.starts.iter().skip(1).copied().chain([self.intervals.len()]);
        let unit = |(low, end): (usize, usize)| {
            let singles = self.intervals[low..end].iter().filter(|interval| interval.is_single());
            let heaviest = singles.fold(0.0, |heaviest: f64, single| heaviest.max(single.weight));
            let (before, chain_end) = (self.before[low], self.chain_end[low]);
            Unit { low, end, first: self.intervals[low].first, before, chain_end, heaviest }
        };
        self.starts.iter().copied().zip(ends).map(unit).collect()
    }

    /// Moves the end of the range from an interval on.
    #[inline(always)]
    fn extend_to(&mut self, low: usize, high: usize) {
        let end = &mut self.ends[low];
        while end.next <= high {
            let at = end.next;
            if at <= self.chain_end[low] {
                end.chain.add(&self.intervals, low, at);
            }
            if at - low < MAX_MASKED {
                self.mask_classes[low].add(&self.intervals[at]);
            }
            end.next += 1;
        }
    }

    /// The best choice for a range without holes, from those of all its parts.
    fn best_plain(&mut self, low: usize, high: usize, heaviest: f64) -> (f64, Choice) {
        if low == high {
            return (0.0, Choice::Leaf);
        }
        let mut best = if self.exact.covers(high + 1 - low) {
            (self.exact.cost(Subset::new(low, high, &Holes::NONE)), Choice::Exact)
        } else {
            self.best_of_many(low, high, heaviest)
        };
        if self.price.bitset_tests && high - low < MAX_BITSET as usize {
            let cost = bitset_cost(&self.intervals[low..=high], self.weight(low, high), self.price);
            if let Some(cost) = cost.filter(|cost| *cost < best.0) {
                best = (cost, Choice::Bitset);
            }
        }
        best
    }

    fn best_of_many(&mut self, low: usize, high: usize, heaviest: f64) -> (f64, Choice) {
        self.extend_to(low, high);
        let weight = self.weight(low, high);
        let test = weight + self.price.size;
        let (first, last) = self.costs.units(low, high);
        let mut best = (self.costs.cheapest_split(first, last) + test, Choice::CheapestSplit);
        if self.chain_end[low] >= high {
            if let Some(cost) = self.plain_chain(low, high, best.0) {
                best = (cost, if cost > 0.0 { Choice::Chain } else { Choice::Leaf });
            }
        }
        if let Some(cost) = self.masked_cost(low, high, heaviest, best.0) {
            best = (cost, Choice::Masked);
        }
        let is_heavy = self.is_heavy(heaviest, weight);
        let single = if is_heavy { self.ranks.singles(low, high).next() } else { None };
        if let Some(single) = single {
            let parts = self.costs.get(low, single) + self.costs.get(single + 1, high + 1);
            let left = self.before[single] - self.before[low];
            let right = weight - left - heaviest;
            if (parts + test + left.min(right)) * ROUNDED_DOWN < best.0 {
                let holes = Holes::NONE.and(single);
                let cost = self.solve_holed((low, high, 1), &holes, above(best.0 - test)) + test;
                if cost < best.0 {
                    best = (cost, Choice::Equal((single - low) as u16));
                }
            }
        }
        best
    }

    pub(super) fn weight(&self, low: usize, high: usize) -> f64 {
        self.before[high + 1] - self.before[low]
    }

    /// The maximum number of single values before a mask in a range of this weight whose heaviest single value has the
    /// weight `heaviest`, such that the cost may be below a bound; `None` if even the mask alone costs more.
    fn affordable_singles(&self, weight: f64, heaviest: f64, bound: f64) -> Option<u32> {
        // All values pay for the first test, and those that remain after `k` single values for the next one.
        let (mut least, mut rest) = (0.0, weight);
        let affordable = (0..=masks::MAX_SINGLES).take_while(|_| {
            least += rest + self.price.size;
            rest = (rest - heaviest).max(0.0);
            least * ROUNDED_DOWN < bound
        });
        affordable.last()
    }

    /// The cost of a mask after equality tests in a range without holes, if it is below a bound.
    fn masked_cost(&mut self, low: usize, high: usize, heaviest: f64, bound: f64) -> Option<f64> {
        if !self.price.masks || !self.price.masks_after_singles || high - low >= MAX_MASKED {
            return None;
        }
        let classes = self.mask_classes[low].get()?;
        let most = self.affordable_singles(self.weight(low, high), heaviest, bound)?;
        // Parts of the range need at least as few single values.
        let same = |[a, b]: [usize; 2]| [a, b] == classes || [b, a] == classes;
        let of_part = |part: &MaskBound| if same(part.classes) { part.singles } else { 0 };
        let least = self.mask_bounds[low..=low + 1].iter().map(of_part).max().unwrap_or(0);
        let found = match least <= most {
            true => masks::mask_after_singles(&self.intervals[low..=high], classes, most),
            false => None,
        };
        let singles = match &found {
            Some((singles, _)) => singles.count_ones(),
            None => least.max(most + 1),
        };
        self.mask_bounds[low] = MaskBound { classes, singles };
        let (cost, _) = self.before_mask(low, high, found?.0);
        Some(cost).filter(|cost| *cost < bound)
    }

    /// The cost of a chain of equality tests of a set of single values before a mask that separates the rest, and the
    /// single values in the order of their tests.
    fn before_mask(
        &self,
        low: usize,
        high: usize,
        set: u16,
    ) -> (f64, impl Iterator<Item = usize> + Clone) {
        let is_tested = move |single: &usize| set >> (single - low) & 1 == 1;
        let tested = self.ranks.singles(low, high).filter(is_tested);
        let sum: f64 = tested.clone().map(|single| self.intervals[single].weight).sum();
        let rest = self.weight(low, high) - sum;
        let cost = self.chain_cost(tested.clone(), set.count_ones() as usize, rest);
        let cost = cost + self.price.size + rest;
        (cost + self.price.of_mask_above_comparison(rest), tested)
    }

    /// Adds the chosen tree of the whole range, and its cost.
    pub(super) fn build(&mut self, tree: &mut Tree) -> usize {
        tree.cost += self.total();
        self.emit((0, self.intervals.len() - 1, 0), tree)
    }

    /// Adds the chosen tree of a range. Each recursion has fewer intervals or more holes.
    fn emit(&mut self, range: Range, tree: &mut Tree) -> usize {
        let (low, high, count) = range;
        let holes = self.holes(range);
        let first_live = || (low..=high).find(|i| !holes.contains(*i)).unwrap_or(low);
        match self.choice(range, &holes) {
            Choice::Leaf => tree.leaf(self.intervals[first_live()].class),
            Choice::Exact => {
                let set = Subset::new(low, high, &holes);
                self.exact.cost(set);
                self.exact.emit(set, tree)
            }
            choice @ (Choice::Split(_) | Choice::CheapestSplit) => {
                let at = match choice {
                    Choice::Split(at) => low + usize::from(at),
                    _ => {
                        let (first, last) = self.costs.units(low, high);
                        self.starts[self.costs.start_of_cheapest_split(first, last)]
                    }
                };
                let left = (low..at).filter(|interval| holes.contains(*interval)).count();
                let otherwise = self.emit((low, at - 1, left), tree);
                let then = self.emit((at, high, count - left), tree);
                let split = Split::AtLeast(self.intervals[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit((low, high, count + 1), tree);
                tree.equal(&self.intervals[low + usize::from(single)], otherwise)
            }
            Choice::Chain => {
                let Some(chain) = self.chain(range, &holes) else {
                    return tree.leaf(self.intervals[first_live()].class);
                };
                let singles: Vec<usize> = self.chained(range, chain.class).collect();
                let rest = tree.leaf(chain.class);
                tree.chain(singles.iter().map(|single| &self.intervals[*single]), rest)
            }
            Choice::Masked => {
                let intervals = &self.intervals[low..=high];
                let found = masks::two_classes(intervals).and_then(|classes| {
                    masks::mask_after_singles(intervals, classes, masks::MAX_SINGLES)
                });
                let Some((set, test)) = found else {
                    return tree.leaf(self.intervals[low].class);
                };
                let singles: Vec<usize> = self.before_mask(low, high, set).1.collect();
                let rest = tree.any_bit(test);
                tree.chain(singles.iter().map(|single| &self.intervals[*single]), rest)
            }
            Choice::Bitset => tree.bitset(&self.intervals[low..=high]),
        }
    }
}

/// Consecutive intervals that no order test separates.
struct Unit {
    /// The first interval, and the one after the last.
    low: usize,
    end: usize,
    /// The first value.
    first: u32,
    /// The sum of the weights before the unit.
    before: f64,
    /// The last interval of the longest chain from the first one.
    chain_end: usize,
    /// The largest weight of a single value; 0 without one.
    heaviest: f64,
}

/// Per interval, the last one of the longest range from there that may be a chain.
fn chain_ends(intervals: &[WeightedInterval], price: Price) -> Vec<usize> {
    let n = intervals.len();
    // From here on, the class of the first interval that is not a single value, and the first one of another class.
    let (mut class, mut differs) = (None, n);
    let mut next_wide = n;
    let mut ends: Vec<usize> = Vec::with_capacity(n);
    for (at, interval) in intervals.iter().enumerate().rev() {
        if !interval.is_single() {
            if class.is_some_and(|class| class != interval.class) {
                differs = next_wide;
            }
            (class, next_wide) = (Some(interval.class), at);
        }
        ends.push(differs - 1);
    }
    ends.reverse();
    // Twice the limit, because single values may have the class of the others.
    let singles: Vec<usize> = (0..n).filter(|at| intervals[*at].is_single()).collect();
    let mut before = 0;
    for (at, end) in ends.iter_mut().enumerate() {
        if let Some(beyond) = singles.get(before + 2 * price.chain) {
            *end = (*end).min(beyond - 1);
        }
        before += usize::from(intervals[at].is_single());
    }
    ends
}
