//! Dynamic programming over ranges of consecutive intervals.
//!
//! It chooses between
//! - the solution of [`SubsetSearch`], for short ranges,
//! - an order test that splits the range,
//! - an equality test of the heaviest remaining single value, if it is heavy enough to come first (an optimal
//!   tree tests the heaviest single value first),
//! - a chain of equality tests, if all intervals but some single values have the same class,
//! - a chain of equality tests before a mask that separates the rest,
//! - a *bitset test*, where allowed: up to 32 consecutive values of two classes index a constant with a bit for
//!   each (`sub`, `tax`, `ld #bits`, `rsh x`, `jset #1`).
//!
//! Only masks and bitset tests depend on the values of a range; everything else depends on the classes, the kinds and the
//! weights of its intervals. So the *local* ranges, in which masks and bitset tests are searched for, are solved first.
//! A search that repeats consecutive intervals of an earlier one takes its solutions ([`repeats`]).

use std::rc::Rc;

use super::equality::{above, is_heavy};
use super::holed::HoledRanges;
use super::holes::Holes;
use super::interval::WeightedInterval;
use super::mask_bounds::{MAX_MASKED, MaskBounds};
use super::plain_costs::PlainCosts;
use super::price::Price;
use super::range_search::{Choice, End, ROUNDED_DOWN, RangeSearch};
use super::ranks::Ranks;
use super::repeats;
use super::rounding::Rounding;
use super::subsets::{MAX_EXACT, Subset, SubsetSearch};

/// The maximum number of consecutive values of a bitset test.
const MAX_BITSET: u32 = 32;

/// The number of instructions of a bitset test, all of which are executed; one less if its base is 0.
const BITSET_INSNS: f64 = 5.0;

impl RangeSearch {
    /// The solutions of all ranges, some of which may be those of an earlier search with the same price and rounding.
    pub(super) fn new(
        intervals: &[WeightedInterval],
        price: Price,
        rounding: Rounding,
        earlier: Option<&RangeSearch>,
    ) -> RangeSearch {
        let intervals: Rc<[WeightedInterval]> = rounding.round(intervals);
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
            choices: vec![Choice::Leaf; n * n],
            costs: PlainCosts::new(n),
            local_end: local_ends(&intervals, price),
            chain_end: chain_ends(&intervals, price),
            ends: (0..n).map(End::new).collect(),
            masks: MaskBounds::new(n),
            first_wide: vec![n; n],
            ranks: Ranks::new(&intervals),
            holed: HoledRanges::new(n),
            intervals,
        };
        let mut first_wide = n;
        for (at, interval) in ranges.intervals.iter().enumerate().rev() {
            first_wide = if interval.is_single() { first_wide } else { at };
            ranges.first_wide[at] = first_wide;
        }
        ranges.solve(earlier);
        ranges
    }

    /// The cost of the whole range.
    pub(super) fn total(&self) -> f64 {
        self.costs.get(0, self.intervals.len())
    }

    fn solve(&mut self, earlier: Option<&RangeSearch>) {
        let n = self.intervals.len();
        // Per end, the start of the longest local range.
        let mut local_start = Vec::with_capacity(n);
        let mut first = 0;
        for high in 0..n {
            while self.local_end[first] < high {
                first += 1;
            }
            local_start.push(first);
            for low in (first..=high).rev() {
                self.solve_plain(low, high);
            }
        }
        if first == 0 {
            return;
        }
        let repeated = earlier.and_then(|earlier| Some((earlier, repeats::find(self, earlier)?)));
        if let Some((earlier, start)) = repeated {
            self.costs.copy(&earlier.costs, start);
            for (row, at) in self.choices.chunks_exact_mut(n).zip(start..) {
                let first = at * earlier.intervals.len() + start;
                row.copy_from_slice(&earlier.choices[first..first + n]);
            }
            return;
        }
        for (high, first) in local_start.into_iter().enumerate() {
            for low in (0..first).rev() {
                self.solve_plain(low, high);
            }
        }
    }

    #[inline(always)]
    fn set(&mut self, low: usize, high: usize, (cost, choice): (f64, Choice)) {
        self.choices[low * self.intervals.len() + high] = choice;
        self.costs.set(low, high, cost);
    }

    fn solve_plain(&mut self, low: usize, high: usize) {
        let best = self.best_plain(low, high);
        self.set(low, high, best);
    }

    /// Moves the end of the range from an interval on.
    #[inline(always)]
    fn extend_to(&mut self, low: usize, high: usize) {
        let end = &mut self.ends[low];
        while end.next <= high {
            let at = end.next;
            let interval = &self.intervals[at];
            if interval.is_single() && interval.weight > end.heaviest_weight {
                (end.heaviest, end.heaviest_weight) = (Some(at), interval.weight);
            }
            if at <= self.chain_end[low] {
                end.chain.add(&self.intervals, low, at);
            }
            if at - low < MAX_MASKED {
                self.masks.add(low, interval);
            }
            end.next += 1;
        }
    }

    /// The best choice for a range without holes, from those of all its parts.
    fn best_plain(&mut self, low: usize, high: usize) -> (f64, Choice) {
        if low == high {
            return (0.0, Choice::Leaf);
        }
        let mut best = if self.exact.covers(high + 1 - low) {
            (self.exact.cost(Subset::new(low, high, &Holes::NONE)), Choice::Exact)
        } else {
            self.best_of_many(low, high)
        };
        if let Some(cost) = self.bitset_cost(low, high).filter(|cost| *cost < best.0) {
            best = (cost, Choice::Bitset);
        }
        best
    }

    fn best_of_many(&mut self, low: usize, high: usize) -> (f64, Choice) {
        self.extend_to(low, high);
        let weight = self.weight(low, high);
        let test = weight + self.price.size;
        let End { heaviest, heaviest_weight, .. } = self.ends[low];
        let mut best = (self.costs.cheapest_split(low, high) + test, Choice::CheapestSplit);
        if self.chain_end[low] >= high {
            if let Some(cost) = self.plain_chain(low, high, best.0) {
                best = (cost, if cost > 0.0 { Choice::Chain } else { Choice::Leaf });
            }
        }
        if let Some(cost) = self.masked_cost(low, high, heaviest_weight, best.0) {
            best = (cost, Choice::Masked);
        }
        if let Some(single) = heaviest.filter(|_| is_heavy(heaviest_weight, weight)) {
            let parts = self.costs.get(low, single) + self.costs.get(single + 1, high + 1);
            if (parts + test) * ROUNDED_DOWN < best.0 {
                let holes = Holes::NONE.and(single);
                let cost = self.solve_holed((low, high, 1), &holes, above(best.0 - test)) + test;
                if cost < best.0 {
                    best = (cost, Choice::Equal((single - low) as u16));
                }
            }
        }
        best
    }

    /// The cost of a bitset test for a range, if one is possible.
    fn bitset_cost(&self, low: usize, high: usize) -> Option<f64> {
        // For up to four intervals, comparisons are at least as cheap.
        if !self.price.bitset_tests || high - low < 4 || high > self.local_end[low] {
            return None;
        }
        let (first, last) = (self.intervals[low].first, self.intervals[high].last);
        if last - first >= MAX_BITSET {
            return None;
        }
        let classes = [self.intervals[low].class, self.intervals[low + 1].class];
        let two =
            self.intervals[low..=high].iter().all(|interval| classes.contains(&interval.class));
        let insns = if first == 0 { BITSET_INSNS - 1.0 } else { BITSET_INSNS };
        two.then(|| insns * (self.price.size + self.weight(low, high)))
    }
}

/// Per interval, the last one of the longest local range from there; not before that of the previous interval.
fn local_ends(intervals: &[WeightedInterval], price: Price) -> Vec<usize> {
    let masked = match price.masks {
        _ if intervals.len() <= MAX_EXACT => MAX_EXACT,
        true if price.masks_after_singles => MAX_MASKED.max(price.near),
        true => price.near,
        // A range of one interval has no choice.
        false => 1,
    };
    let last = intervals.len().saturating_sub(1);
    let mut end = 0;
    let local_end = |(low, first): (usize, &WeightedInterval)| {
        let is_local = |next: usize| {
            let in_reach = |next: &WeightedInterval| next.last - first.first < MAX_BITSET;
            next < low + masked || price.bitset_tests && intervals.get(next).is_some_and(in_reach)
        };
        while end < last && is_local(end + 1) {
            end += 1;
        }
        end
    };
    intervals.iter().enumerate().map(local_end).collect()
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
