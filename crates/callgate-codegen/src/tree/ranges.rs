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

use super::bitset;
use super::equality::{above, heavy};
use super::holed::HoledRanges;
use super::holes::Holes;
use super::interval::WeightedInterval;
use super::mask_bounds::{MAX_MASKED, MaskBounds};
use super::plain_costs::PlainCosts;
use super::price::Price;
use super::range_search::{Choice, End, ROUNDED_DOWN, RangeSearch};
use super::ranks::Ranks;
use super::subsets::{Subset, SubsetSearch};

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
            ends: (0..n).map(End::new).collect(),
            masks: MaskBounds::new(n),
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
        let bitset = if self.price.bitset_tests { bitset::MAX_VALUES } else { 0 };
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
                self.masks.add(low, &self.intervals[at]);
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
        if self.price.bitset_tests && high - low < bitset::MAX_VALUES as usize {
            let cost =
                bitset::cost(&self.intervals[low..=high], self.weight(low, high), self.price);
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
