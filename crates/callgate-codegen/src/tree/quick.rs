//! Search trees without a search: good trees in O(n · [`MAX_PART`]) for n intervals.
//!
//! Consecutive intervals form *parts* that need few instructions each: intervals of one class none, a mask that separates
//! two classes one, a chain of equality tests one per value, a bitset test its instructions. A dynamic program in one
//! dimension chooses the parts. Order tests separate them; a balanced tree of such tests executes about log2(W / w) of
//! them for a part with the share w of the weight W, and this estimate makes the choice of a part independent of that of
//! the others. Then the parts are halved by weight.

use callgate_core::diagram::Split;

use super::masks::{all_bits, is_separable, mask_test};
use super::node::{MAX_BITSET, Node, Tree, WeightedInterval, bitset_insns};
use super::price::Price;

/// The maximum number of intervals of a part.
const MAX_PART: usize = 16;

/// The maximum number of equality tests of a chain.
const MAX_CHAIN: usize = 6;

/// The minimum price of an instruction, as a share of the weight of all intervals. The estimates of executed
/// instructions are rough: a part that is split for a small gain mostly gains nothing.
const MIN_SIZE: f64 = 0.03;

/// How a part is decided.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// All intervals have the same class.
    Uniform,
    /// A mask separates two classes.
    Mask,
    /// Equality tests of all values that do not have this class, which all other intervals have.
    Chain { rest: usize },
    /// A bitset test of two classes.
    Bitset,
}

/// Consecutive intervals that end before the next part.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    kind: Kind,
    /// The cost of this part and of all parts before it.
    cost: f64,
}

/// A good tree for intervals that cover all values, in order and without gaps.
pub(super) fn quick_tree(intervals: &[WeightedInterval], price: Price, tree: &mut Tree) -> usize {
    let total: f64 = intervals.iter().map(|interval| interval.weight).sum();
    if let Some(at) = dominant(intervals, total, price) {
        let rest = [&intervals[..at], &intervals[at + 1..]].concat();
        let otherwise = quick_tree(&rest, price, tree);
        tree.cost += total + price.size;
        return tree.equal(&intervals[at], otherwise);
    }
    let mut before = Vec::with_capacity(intervals.len() + 1);
    before.push(0.0);
    let mut sum = 0.0;
    for interval in intervals {
        sum += interval.weight;
        before.push(sum);
    }
    let size = price.size.max(MIN_SIZE * sum);
    let quick = Quick { intervals, price, size, before };
    let parts = quick.with_few_order_tests(quick.parts());
    // A test and a leaf for each interval, and an order test for each part.
    tree.nodes.reserve(2 * intervals.len() + parts.len());
    quick.halved(&parts, tree)
}

struct Quick<'a> {
    intervals: &'a [WeightedInterval],
    price: Price,
    /// The price of an instruction in the choice of parts.
    size: f64,
    /// Per interval, the sum of the weights before it; and of all.
    before: Vec<f64>,
}

/// The logarithm to the base 2 of a positive number, 0.09 too small at most. It only ranks alternatives.
pub(super) fn approximate_log2(value: f64) -> f64 {
    const EXPONENT: u64 = 0x3ff;
    let bits = value.to_bits();
    let exponent = (bits >> 52) as f64 - EXPONENT as f64;
    let mantissa = f64::from_bits(bits & (u64::MAX >> 12) | EXPONENT << 52);
    exponent + mantissa - 1.0
}

impl Quick<'_> {
    fn weight(&self, start: usize, end: usize) -> f64 {
        self.before[end] - self.before[start]
    }

    /// The cost of a part besides the order test before it and its own tests.
    fn separation(&self, weight: f64) -> f64 {
        let total = self.before[self.intervals.len()];
        self.size + if weight > 0.0 { weight * approximate_log2(total / weight) } else { 0.0 }
    }

    /// The cheapest parts, in order, each with its end.
    fn parts(&self) -> Vec<(Part, usize)> {
        // The best last part for the intervals before each index.
        let mut best: Vec<Part> = Vec::with_capacity(self.intervals.len() + 1);
        best.push(Part { start: 0, kind: Kind::Uniform, cost: 0.0 });
        let bits: Vec<u32> = self.intervals.iter().map(|i| all_bits(i.first, i.last)).collect();
        let is_separable = |start: usize, end: usize| {
            let part = &self.intervals[start..end];
            part.len() <= MAX_PART && is_separable(part, &bits[start..end], self.price.masks)
        };
        let mut separable = 0;
        for end in 1..=self.intervals.len() {
            while !is_separable(separable, end) {
                separable += 1;
            }
            best.push(self.best_part(&best, separable, end));
        }
        let mut parts = Vec::with_capacity(self.intervals.len());
        let mut end = self.intervals.len();
        while end > 0 {
            let part = best[end];
            parts.push((part, end));
            end = part.start;
        }
        parts.reverse();
        parts
    }

    /// The parts, or longer chains in their place, if the tests would outnumber the values by more than 5 % and one: a plain list
    /// of equality tests must not be shorter.
    fn with_few_order_tests(&self, parts: Vec<(Part, usize)>) -> Vec<(Part, usize)> {
        let widest = self.intervals.iter().max_by_key(|interval| interval.last - interval.first);
        let Some(widest) = widest.map(|interval| interval.class) else { return parts };
        let is_listed = |one: &&WeightedInterval| one.class != widest && one.first == one.last;
        let listed = self.intervals.iter().filter(is_listed).count();
        let tests = |(part, end): &(Part, usize)| match part.kind {
            Kind::Uniform => 0,
            Kind::Mask => self.price.mask_insns as usize,
            Kind::Chain { rest } => self.unlike(part.start, *end, rest),
            Kind::Bitset => bitset_insns(self.intervals[part.start].first) as usize,
        };
        let all: usize = parts.iter().map(tests).sum();
        let more = 1 + listed / 20;
        if all + parts.len() - 1 <= listed + more {
            return parts;
        }
        let most = listed.div_ceil(more + 1);
        let mut joined: Vec<(Part, usize)> = Vec::with_capacity(parts.len());
        for (part, end) in parts {
            let before = joined.last().and_then(|(before, _)| match (before.kind, part.kind) {
                (Kind::Chain { rest }, Kind::Chain { rest: other }) if rest == other => Some(rest),
                (Kind::Chain { rest }, Kind::Uniform) => Some(rest),
                (Kind::Uniform, Kind::Chain { rest }) => Some(rest),
                _ => None,
            });
            match (joined.last_mut(), before) {
                (Some((before, before_end)), Some(rest))
                    if self.are_singles(before.start, end, rest)
                        && self.unlike(before.start, end, rest) <= most =>
                {
                    before.kind = Kind::Chain { rest };
                    *before_end = end;
                }
                _ => joined.push((part, end)),
            }
        }
        joined
    }

    /// How many of some intervals do not have a class.
    fn unlike(&self, start: usize, end: usize, class: usize) -> usize {
        self.intervals[start..end].iter().filter(|interval| interval.class != class).count()
    }

    /// Whether all of some intervals that do not have a class are single values.
    fn are_singles(&self, start: usize, end: usize, class: usize) -> bool {
        let mut unlike = self.intervals[start..end].iter().filter(|one| one.class != class);
        unlike.all(|interval| interval.first == interval.last)
    }

    /// The best last part of the intervals before `end`; a mask separates those from `separable` on.
    fn best_part(&self, best: &[Part], separable: usize, end: usize) -> Part {
        let (size, mask_insns) = (self.size, self.price.mask_insns);
        let mut found = Part { start: end - 1, kind: Kind::Uniform, cost: f64::INFINITY };
        let last = &self.intervals[end - 1];
        let mut is_uniform = true;
        let mut chain = Chain::new(self.price.chain.min(MAX_CHAIN));
        let mut bitset = self.price.bitset_tests.then(|| TwoClasses::new(last));
        for start in (end.saturating_sub(MAX_PART)..end).rev() {
            let interval = &self.intervals[start];
            is_uniform &= interval.class == last.class;
            chain.add(interval);
            bitset = bitset.and_then(|classes| classes.and(interval));
            let is_separable = start >= separable;
            if !is_separable && chain.is_impossible && bitset.is_none() {
                break;
            }
            let weight = self.weight(start, end);
            let before = best[start].cost + self.separation(weight);
            let found_kind = |found: &mut Part, kind, cost: f64| {
                if before + cost < found.cost {
                    *found = Part { start, kind, cost: before + cost };
                }
            };
            if is_uniform {
                found_kind(&mut found, Kind::Uniform, 0.0);
                continue;
            }
            if is_separable {
                found_kind(&mut found, Kind::Mask, f64::from(mask_insns) * (weight + size));
            }
            // Where no mask applies, a chain is tried only if it beats an estimate of at least two tests.
            let tests = chain.least_tests().max(if is_separable { 1 } else { 2 });
            let least = weight + size * tests as f64;
            if (!is_separable || mask_insns > 1) && before + least < found.cost {
                if let Some((rest, cost)) = chain.cost(weight, size) {
                    found_kind(&mut found, Kind::Chain { rest }, cost);
                }
            }
            if !is_separable && bitset.is_some() {
                found_kind(
                    &mut found,
                    Kind::Bitset,
                    bitset_insns(interval.first) * (weight + size),
                );
            }
        }
        found
    }

    /// Adds order tests that separate parts.
    fn halved(&self, parts: &[(Part, usize)], tree: &mut Tree) -> usize {
        let (Some((first, first_end)), Some((_, end))) = (parts.first(), parts.last()) else {
            return tree.leaf(0);
        };
        if parts.len() == 1 {
            return self.emit(first, *first_end, tree);
        }
        let total = self.weight(first.start, *end);
        // A small weight per part, so that parts without weight are halved, too.
        let floor = (total / 8.0).max(f64::MIN_POSITIVE) / parts.len() as f64;
        let half = (total + floor * parts.len() as f64) / 2.0;
        let left = |at: usize| {
            let end = parts[at - 1].1;
            self.weight(first.start, end) + floor * at as f64
        };
        // Each half has at least an eighth of the parts, so the recursion depth is logarithmic.
        let least = (parts.len() / 8).max(1);
        let (mut low, mut high) = (least, parts.len() - least);
        while low < high {
            let middle = (low + high) / 2;
            if left(middle) < half { low = middle + 1 } else { high = middle }
        }
        let at = if low > least && half - left(low - 1) < left(low) - half { low - 1 } else { low };
        let (below, above) = parts.split_at(at);
        let otherwise = self.halved(below, tree);
        let then = self.halved(above, tree);
        tree.cost += total + self.price.size;
        let split = Split::AtLeast(self.intervals[parts[at].0.start].first);
        tree.push(Node::Test { split, then, otherwise })
    }

    /// Adds the tests of a part.
    fn emit(&self, part: &Part, end: usize, tree: &mut Tree) -> usize {
        let intervals = &self.intervals[part.start..end];
        let mut rest = self.weight(part.start, end);
        match part.kind {
            Kind::Mask => {
                if let Some(test) = mask_test(intervals.iter()) {
                    let insns = f64::from(self.price.mask_insns);
                    tree.cost += insns * (rest + self.price.size);
                    return tree.any_bit(test);
                }
            }
            Kind::Chain { rest: class } => {
                let mut singles: Vec<&WeightedInterval> =
                    intervals.iter().filter(|interval| interval.class != class).collect();
                singles.sort_by(|a, b| b.weight.total_cmp(&a.weight));
                for single in &singles {
                    tree.cost += rest + self.price.size;
                    rest -= single.weight;
                }
                let leaf = tree.leaf(class);
                let tests = singles.iter().rev();
                return tests.fold(leaf, |otherwise, single| tree.equal(single, otherwise));
            }
            Kind::Bitset => {
                let first = intervals.first().map_or(0, |interval| interval.first);
                tree.cost += bitset_insns(first) * (rest + self.price.size);
                return tree.bitset(intervals);
            }
            Kind::Uniform => {}
        }
        tree.leaf(intervals.first().map_or(0, |interval| interval.class))
    }
}

/// The intervals of a bitset test, while others are added before them: less than 32 values of two classes.
#[derive(Clone, Copy)]
pub(super) struct TwoClasses {
    last: u32,
    class: usize,
    other: Option<usize>,
}

impl TwoClasses {
    pub(super) fn new(last: &WeightedInterval) -> TwoClasses {
        TwoClasses { last: last.last, class: last.class, other: None }
    }

    pub(super) fn and(self, interval: &WeightedInterval) -> Option<TwoClasses> {
        let other = match self.other {
            None if interval.class != self.class => Some(interval.class),
            other => other,
        };
        let is_known = interval.class == self.class || Some(interval.class) == other;
        (is_known && self.last - interval.first < MAX_BITSET)
            .then_some(TwoClasses { other, ..self })
    }
}

/// A chain of equality tests, while intervals are added before it.
struct Chain {
    /// The maximum number of tests.
    most: usize,
    /// The class of the intervals that are not single values.
    wide: Option<usize>,
    /// The weights and classes of the single values, the heaviest first; those of [`Chain::wide`] are left out.
    singles: [(f64, usize); MAX_PART],
    count: usize,
    /// Whether there is no chain of so few tests, however many intervals are added.
    is_impossible: bool,
}

impl Chain {
    fn new(most: usize) -> Chain {
        Chain { most, wide: None, singles: [(0.0, 0); MAX_PART], count: 0, is_impossible: false }
    }

    fn add(&mut self, interval: &WeightedInterval) {
        if self.is_impossible {
            return;
        }
        let class = interval.class;
        if interval.is_single() {
            if self.wide != Some(class) && self.count < MAX_PART {
                let mut at = self.count;
                while at > 0 && self.singles[at - 1].0 < interval.weight {
                    self.singles[at] = self.singles[at - 1];
                    at -= 1;
                }
                self.singles[at] = (interval.weight, class);
                self.count += 1;
            }
        } else if self.wide.is_none() {
            self.wide = Some(class);
            let mut kept = 0;
            for at in 0..self.count {
                if self.singles[at].1 != class {
                    self.singles[kept] = self.singles[at];
                    kept += 1;
                }
            }
            self.count = kept;
        } else if self.wide != Some(class) {
            self.is_impossible = true;
        }
        // Without other intervals, single values of one class need no test.
        let most = if self.wide.is_some() { self.most } else { 2 * self.most + 1 };
        self.is_impossible |= self.count > most;
    }

    /// A lower bound of the number of tests: with a wide interval, each single value of another class needs one.
    fn least_tests(&self) -> usize {
        if self.wide.is_some() { self.count } else { 1 }
    }

    /// The class of the rest, and the cost of the tests before it in a part of this weight.
    fn cost(&self, weight: f64, size: f64) -> Option<(usize, f64)> {
        if self.is_impossible {
            return None;
        }
        let singles = &self.singles[..self.count];
        // Without other intervals, the heaviest value needs no test.
        let rest = self.wide.or_else(|| singles.first().map(|(_, class)| *class))?;
        let (mut cost, mut left, mut tests) = (0.0, weight, 0);
        for (weight, _) in singles.iter().filter(|(_, class)| *class != rest) {
            tests += 1;
            cost += left + size;
            left -= weight;
        }
        (tests <= self.most).then_some((rest, cost))
    }
}

/// From this share of the weight on, a single value is tested for equality before all others (Chrobak et al.: some
/// optimal tree begins so from 4/9, and none below 1/4).
const DOMINANT: f64 = 0.3;

/// The single value whose weight is so large that it is tested first.
pub(super) fn dominant(intervals: &[WeightedInterval], total: f64, price: Price) -> Option<usize> {
    // Without its own test it would need several; their weight must exceed the price of the instruction.
    let heavy = |interval: &WeightedInterval| {
        interval.is_single() && interval.weight > DOMINANT * total && interval.weight > price.size
    };
    intervals.iter().position(heavy)
}

#[cfg(test)]
mod tests {
    use callgate_bpf::random::Rng;

    use super::super::search::search_tree;
    use super::*;
    use crate::{Aim, Instructions};

    /// Executes a tree; the class of a value, and the number of tests.
    fn run(tree: &Tree, value: u32) -> (usize, usize) {
        let (mut at, mut tests) = (tree.nodes.len() - 1, 0);
        loop {
            let (holds, then, otherwise) = match tree.nodes[at] {
                Node::Leaf { class } => return (class, tests),
                Node::Test { split: Split::Equal(k), then, otherwise } => {
                    (value == k, then, otherwise)
                }
                Node::Test { split: Split::AtLeast(k), then, otherwise } => {
                    (value >= k, then, otherwise)
                }
                Node::AnyBit { mask, then, otherwise } => (value & mask != 0, then, otherwise),
                Node::Bitset { base, bits, then, otherwise } => {
                    assert!((base..=base + 31).contains(&value));
                    (bits >> (value - base) & 1 == 1, then, otherwise)
                }
            };
            (at, tests) = (if holds { then } else { otherwise }, tests + 1);
        }
    }

    /// Random intervals of two or three classes.
    fn random(rng: &mut Rng, n: usize, gap: usize) -> Vec<WeightedInterval> {
        let classes = 2 + rng.below(4) / 3;
        let weighted = rng.below(2) == 1;
        let (mut first, mut class) = (0, 0);
        let mut intervals = Vec::new();
        for at in 0..n {
            let last = match at + 1 == n {
                true => u32::MAX,
                false => first + [0, 0, rng.below(gap)][rng.below(3)] as u32,
            };
            let weight = match class {
                0 if weighted => rng.below(100) as f64,
                0 => 1.0 + f64::from(last.min(first + 4) - first),
                _ => 0.0,
            };
            intervals.push(WeightedInterval { first, last, class, weight });
            first = last.wrapping_add(1);
            class = (class + 1 + rng.below(classes - 1)) % classes;
        }
        let total: f64 = intervals.iter().map(|interval| interval.weight).sum();
        intervals.iter_mut().for_each(|interval| interval.weight /= total.max(1.0));
        intervals
    }

    fn prices(aim: Aim) -> [Price; 3] {
        [
            Price::of_number(aim, Instructions::All),
            Price::of_argument(aim, Instructions::All),
            Price::of_argument(aim, Instructions::Basic),
        ]
    }

    #[test]
    fn every_value_reaches_its_class_and_the_cost_is_exact() {
        let mut rng = Rng::new(1);
        for round in 0..2000 {
            let n = 1 + rng.below(60);
            let intervals = random(&mut rng, n, 1 + round % 50);
            for price in prices(Aim::Quick) {
                let tree = search_tree(&intervals, price);
                for interval in &intervals {
                    for value in
                        [interval.first, interval.last, interval.first.midpoint(interval.last)]
                    {
                        assert_eq!(run(&tree, value).0, interval.class, "{value} {intervals:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn trees_are_near_those_of_the_search() {
        let mut rng = Rng::new(2);
        for (name, at) in [("number", 0), ("argument", 1), ("argument, basic", 2)] {
            for n in [3, 6, 10, 17, 40, 90] {
                let (mut sum, mut worst, mut sizes) = (0.0, 0.0_f64, [0, 0]);
                const ROUNDS: u32 = 100;
                for _ in 0..ROUNDS {
                    let intervals = random(&mut rng, n, 40);
                    let quick = search_tree(&intervals, prices(Aim::Quick)[at]);
                    let best = search_tree(&intervals, prices(Aim::Speed)[at]);
                    let ratio = quick.cost / best.cost.max(0.01);
                    sum += ratio;
                    worst = worst.max(ratio);
                    for (size, tree) in sizes.iter_mut().zip([&quick, &best]) {
                        let is_test = |node: &&Node| !matches!(node, Node::Leaf { .. });
                        *size += tree.nodes.iter().filter(is_test).count();
                    }
                }
                let mean = sum / f64::from(ROUNDS);
                let size = sizes[0] as f64 / sizes[1] as f64;
                println!("{name} {n}: cost {mean:.3}, at most {worst:.3}; tests {size:.3}");
                assert!(mean < 1.4, "{name} {n}: {mean}");
            }
        }
    }
}
