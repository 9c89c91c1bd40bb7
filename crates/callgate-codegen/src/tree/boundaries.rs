//! The boundaries of intervals at which order tests of many intervals are tried.
//!
//! In a good tree of many intervals, order tests separate *parts*: consecutive intervals that a mask, a few equality tests,
//! a bitset test or no test decide. A dynamic program in one dimension finds the cheapest parts, with log2(W / w) as the
//! depth of a part with the weight w of W, as [`quick`](super::quick) does. Order tests are only tried where such a part
//! begins, because the dynamic program over ranges takes time in the third power of their number.

use super::masks::{MAX_MASKED, all_bits, is_separable};
use super::node::{WeightedInterval, bitset_insns};
use super::price::Price;
use super::quick::{TwoClasses, approximate_log2};

/// The maximum number of intervals of a part.
const MAX_PART: usize = 32;

/// The maximum number of equality tests of a part.
const MAX_CHAIN: usize = 8;

/// The maximum number of intervals for which two ways to divide them are considered.
const MAX_TWO_WAYS: usize = 256;

/// The price of an instruction in the second way, as a share of its price. In it, parts are hardly larger than a tree that
/// executes the fewest instructions would have them.
const SECOND_SIZE: f64 = 0.001;

/// The indexes of the intervals before which order tests are tried, in order, after 0.
pub(super) fn boundaries(intervals: &[WeightedInterval], price: Price) -> Vec<usize> {
    let mut starts = cheapest_parts(intervals, price);
    if intervals.len() <= MAX_TWO_WAYS {
        let price = Price { size: price.size * SECOND_SIZE, ..price };
        starts.extend(cheapest_parts(intervals, price));
        starts.sort_unstable();
        starts.dedup();
    }
    starts
}

/// The starts of the cheapest parts, in order.
fn cheapest_parts(intervals: &[WeightedInterval], price: Price) -> Vec<usize> {
    let bits: Vec<u32> = intervals.iter().map(|of| all_bits(of.first, of.last)).collect();
    let total = intervals.iter().map(|interval| interval.weight).sum();
    // Per end, the cheapest parts before it.
    let mut best = vec![Best { cost: 0.0, start: 0 }];
    let most = if price.masks_after_singles { MAX_MASKED } else { price.near };
    let is_separable = |start: usize, end: usize| {
        let part = &intervals[start..end];
        part.len() <= most && is_separable(part, &bits[start..end], price.masks)
    };
    let mut separable = 0;
    for end in 1..=intervals.len() {
        while !is_separable(separable, end) {
            separable += 1;
        }
        best.push(best_part(intervals, &best, separable, total, price));
    }
    let mut starts = Vec::new();
    let mut end = intervals.len();
    while end > 0 {
        end = best[end].start;
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// The cheapest parts of some intervals.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    /// The start of the last part.
    start: usize,
}

/// The best last part of the intervals after those of `best`, from the best parts of fewer intervals; a mask separates
/// those from `separable` on.
fn best_part(
    intervals: &[WeightedInterval],
    best: &[Best],
    separable: usize,
    total: f64,
    price: Price,
) -> Best {
    let end = best.len();
    let last = &intervals[end - 1];
    let mut found = Best { cost: f64::INFINITY, start: end - 1 };
    let most_tests = price.chain.min(MAX_CHAIN) as f64;
    let (mut is_uniform, mut weight) = (true, 0.0);
    let mut chain = Chain::default();
    let mut bitset = price.bitset_tests.then(|| TwoClasses::new(last));
    let parts = intervals[..end].iter().zip(best).enumerate().rev().take(MAX_PART);
    for (start, (interval, before)) in parts {
        weight += interval.weight;
        is_uniform &= interval.class == last.class;
        chain.add(interval);
        if bitset.is_some() {
            bitset = bitset.and_then(|classes| classes.and(interval));
        }
        let is_separable = start >= separable;
        let tests = chain.tests();
        let is_chain = tests.most <= most_tests;
        if !is_separable && !is_chain && bitset.is_none() {
            break;
        }
        let test = weight + price.size;
        let mut cost = f64::INFINITY;
        if is_uniform {
            cost = 0.0;
        } else if is_separable {
            cost = f64::from(price.mask_insns) * test;
        }
        if is_chain {
            // As if all tested values had the same weight.
            let of_tested = tests.weight * (tests.count + 1.0) / 2.0;
            let of_chain = tests.count * (test - tests.weight) + of_tested;
            cost = cost.min(of_chain);
        }
        if bitset.is_some() {
            cost = cost.min(bitset_insns(interval.first) * test);
        }
        // The order test before the part.
        let cost = before.cost + cost + price.size;
        if cost < found.cost {
            let depth = if weight > 0.0 { approximate_log2(total / weight) } else { 0.0 };
            let cost = cost + weight * depth;
            if cost < found.cost {
                found = Best { cost, start };
            }
        }
    }
    found
}

/// Single values, while intervals are added: those that would be tested before the others.
#[derive(Default)]
struct Chain {
    /// The class of the intervals that are not single values.
    wide: Option<usize>,
    /// The single values whose class is not that one; until there is one, all.
    others: Tests,
    /// Until there is one, those of the first two classes.
    of: [Option<(usize, Tests)>; 2],
}

/// The number of tested values, their maximum number, and their weight.
#[derive(Clone, Copy, Default)]
struct Tests {
    count: f64,
    most: f64,
    weight: f64,
}

impl Tests {
    #[inline(always)]
    fn add(&mut self, weight: f64) {
        self.count += 1.0;
        self.most += 1.0;
        self.weight += weight;
    }

    fn without(self, other: Tests) -> Tests {
        let count = self.count - other.count;
        Tests { count, most: count, weight: self.weight - other.weight }
    }
}

impl Chain {
    #[inline(always)]
    fn add(&mut self, interval: &WeightedInterval) {
        let class = interval.class;
        match self.wide {
            Some(wide) if wide == class => {}
            Some(_) if interval.is_single() => self.others.add(interval.weight),
            // No chain distinguishes these.
            Some(_) => self.others.most = f64::INFINITY,
            None if interval.is_single() => {
                self.others.add(interval.weight);
                let is_of = |of: &&mut Option<(usize, Tests)>| of.is_none_or(|of| of.0 == class);
                if let Some(of) = self.of.iter_mut().find(is_of) {
                    of.get_or_insert((class, Tests::default())).1.add(interval.weight);
                }
            }
            None => {
                self.wide = Some(class);
                let same = self.of.iter().flatten().find(|of| of.0 == class);
                self.others = self.others.without(same.map_or(Tests::default(), |of| of.1));
            }
        }
    }

    /// The tested values. Without other intervals, the rest is the more frequent class, but may be any.
    #[inline(always)]
    fn tests(&self) -> Tests {
        match (self.wide, &self.of) {
            (Some(_), _) => self.others,
            (None, [Some((_, a)), Some((_, b))]) => {
                let is_less = (a.count, a.weight) < (b.count, b.weight);
                let tests = self.others.without(if is_less { *b } else { *a });
                Tests { most: self.others.most - 1.0, ..tests }
            }
            (None, _) => Tests { count: 0.0, weight: 0.0, ..self.others },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Aim;
    use crate::instructions::Instructions;

    fn starts(intervals: &[WeightedInterval]) -> Vec<usize> {
        cheapest_parts(intervals, Price::of_number(Aim::Size, Instructions::All))
    }

    fn interval(first: u32, last: u32, class: usize) -> WeightedInterval {
        WeightedInterval { first, last, class, weight: if class == 0 { 1.0 } else { 0.0 } }
    }

    /// The even numbers of two blocks, each of which one mask decides, far from each other.
    #[test]
    fn parts_are_what_a_mask_decides() {
        let mut intervals = Vec::new();
        for base in [0, 0x1_0000] {
            intervals
                .extend((base..base + 12).map(|value| interval(value, value, value as usize % 2)));
            intervals.push(interval(base + 12, base + 0xffff, 1));
        }
        intervals.push(interval(0x2_0000, u32::MAX, 1));
        assert_eq!(starts(&intervals), [0, 12, 13, 25]);
    }

    /// Single values without a pattern in a wide class: eight equality tests decide a part, not more.
    #[test]
    fn parts_have_at_most_eight_equality_tests() {
        let values = [0x1003, 0x2f10, 0x30ff, 0x4a21, 0x5b72, 0x6003, 0x7f1c, 0x8e0f, 0x90f1];
        let of = |values: &[u32]| {
            let mut intervals = Vec::new();
            let mut first = 0;
            for value in values {
                intervals.push(interval(first, value - 1, 1));
                intervals.push(interval(*value, *value, 0));
                first = value + 1;
            }
            intervals.push(interval(first, u32::MAX, 1));
            starts(&intervals).len()
        };
        assert_eq!(of(&values[..8]), 1);
        assert!(of(&values) > 1);
    }
}
