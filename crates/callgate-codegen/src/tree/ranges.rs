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

use rustc_hash::FxHashMap as HashMap;

use super::chain::{Chain, ChainBound, ChainCost};
use super::interval::WeightedInterval;
use super::masks::{self, MaskTest};
use super::node::{Node, Tree};
use super::price::Price;
use super::subsets::{Subset, SubsetSearch};
use callgate_proof::diagram::Split;

/// The minimum share of the weight with which a single value is tested for equality before an order test. Below it,
/// a split is cheaper.
const HEAVY: f64 = 0.2;

/// The maximum number of intervals for which a mask is searched.
const MAX_MASKED: usize = 14;

/// The number of instructions of a bitset test, all of which are executed; one less if its base is 0.
const BITSET_INSNS: f64 = 5.0;

/// A compact form, because there is one per range. A range has at most [`Price::whole`] intervals.
#[derive(Clone, Copy, PartialEq)]
enum Choice {
    Leaf,
    Exact,
    /// An order test; the upper part begins with this interval.
    Split(u16),
    /// An equality test of this interval.
    Equal(u16),
    Chain,
    Masked,
    Bitset,
}

/// The intervals `low..=high` without the `holes` heaviest single values among them, which earlier equality tests
/// have excluded.
type Range = (usize, usize, usize);

pub(super) struct RangeSearch<'a> {
    intervals: &'a [WeightedInterval],
    price: Price,
    exact: SubsetSearch<'a>,
    /// Per interval, the sum of the weights before it.
    before: Vec<f64>,
    /// For ranges without holes, the choices by `low * n + high`.
    choices: Vec<Choice>,
    /// Their costs by `low * n + high` and by `high * n + low`, so that the costs of both parts of all splits of a
    /// range are contiguous.
    costs_from: Vec<f64>,
    costs_to: Vec<f64>,
    /// Per interval, the last interval of the longest chain from there.
    chain_end: Vec<usize>,
    /// Per interval, a bound of the cost of a chain from there to the current end.
    chain_bounds: Vec<ChainBound>,
    /// Per interval, the end (excluded) of the longest range from there that a mask may separate.
    mask_end: Vec<usize>,
    /// Per interval, the heaviest single value from there to the current end.
    heaviest_from: Vec<Option<usize>>,
    holed: HashMap<Range, (f64, Choice)>,
}

impl<'a> RangeSearch<'a> {
    pub(super) fn new(intervals: &'a [WeightedInterval], price: Price) -> RangeSearch<'a> {
        let mut before = vec![0.0];
        let mut sum = 0.0;
        for interval in intervals {
            sum += interval.weight;
            before.push(sum);
        }
        let n = intervals.len();
        let mut ranges = RangeSearch {
            intervals,
            price,
            exact: SubsetSearch::new(intervals, price),
            before,
            choices: vec![Choice::Leaf; n * n],
            costs_from: vec![0.0; n * n],
            costs_to: vec![0.0; n * n],
            chain_end: Vec::new(),
            chain_bounds: vec![ChainBound::default(); n],
            mask_end: Vec::new(),
            heaviest_from: vec![None; n],
            holed: HashMap::default(),
        };
        ranges.chain_end = (0..n).map(|low| ranges.last_of_chain(low)).collect();
        if price.masks && price.masks_after_singles {
            let near = |low: usize| &intervals[low..n.min(low + MAX_MASKED)];
            ranges.mask_end = (0..n).map(|low| low + masks::max_length(near(low))).collect();
        }
        ranges
    }

    pub(super) fn build(mut self, tree: &mut Tree) -> usize {
        let n = self.intervals.len();
        for high in 0..n {
            for low in (0..=high).rev() {
                self.heaviest_from[low] = self.heavier(self.heaviest_from[low], high);
                if high <= self.chain_end[low] {
                    self.chain_bounds[low].add(&self.intervals[low..=high]);
                }
            }
            for low in (0..=high).rev() {
                let (cost, choice) = self.best_plain(low, high);
                self.choices[low * n + high] = choice;
                self.costs_from[low * n + high] = cost;
                self.costs_to[high * n + low] = cost;
            }
        }
        let (cost, _) = self.solve((0, n - 1, 0));
        tree.cost += cost;
        self.emit((0, n - 1, 0), tree)
    }

    /// The heavier of a single value and an interval, if that is a single value; `best` if they are equal.
    fn heavier(&self, best: Option<usize>, interval: usize) -> Option<usize> {
        let weight = self.intervals[interval].weight;
        if self.intervals[interval].is_single()
            && best.is_none_or(|best| weight > self.intervals[best].weight)
        {
            Some(interval)
        } else {
            best
        }
    }

    fn last_of_chain(&self, low: usize) -> usize {
        let mut wide: Option<usize> = None;
        let mut others = 0;
        for (i, interval) in self.intervals.iter().enumerate().skip(low) {
            if !interval.is_single() {
                let class = wide.get_or_insert(interval.class);
                if *class != interval.class {
                    return i - 1;
                }
            } else {
                others += 1;
            }
            // Twice the limit, because single values may have the class of the wide intervals.
            if others > 2 * self.price.chain {
                return i - 1;
            }
        }
        self.intervals.len() - 1
    }

    /// The best choice for a range without holes, from those of all its parts.
    fn best_plain(&mut self, low: usize, high: usize) -> (f64, Choice) {
        if low == high {
            return (0.0, Choice::Leaf);
        }
        let mut best = if self.exact.covers(high + 1 - low) {
            (self.exact.cost(Subset::new(low, high, &[])), Choice::Exact)
        } else {
            self.best_of_many(low, high)
        };
        if let Some(cost) = self.bitset_cost(low, high).filter(|cost| *cost < best.0) {
            best = (cost, Choice::Bitset);
        }
        best
    }

    fn best_of_many(&mut self, low: usize, high: usize) -> (f64, Choice) {
        let n = self.intervals.len();
        let left = &self.costs_from[low * n + low..low * n + high];
        let right = &self.costs_to[high * n + low + 1..high * n + high + 1];
        let (least, at) = least_sum(left, right);
        let weight = self.weight(low, high);
        let test = weight + self.price.size;
        let mut best = (least + test, Choice::Split((low + 1 + at) as u16));
        if self.chain_end[low] >= high {
            if let Some(cost) = self.plain_chain(low, high, weight, best.0) {
                best = (cost, if cost > 0.0 { Choice::Chain } else { Choice::Leaf });
            }
        }
        if let Some((cost, ..)) = self.masked(low, high).filter(|(cost, ..)| *cost < best.0) {
            best = (cost, Choice::Masked);
        }
        if let Some(single) =
            self.heaviest_from[low].filter(|interval| self.is_heavy(*interval, weight))
        {
            let cost = self.solve((low, high, 1)).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Equal(single as u16));
            }
        }
        best
    }

    /// The cost of a bitset test for a range, if one is possible.
    fn bitset_cost(&self, low: usize, high: usize) -> Option<f64> {
        // For up to four intervals, comparisons are at least as cheap.
        if !self.price.bitset_tests || high - low < 4 {
            return None;
        }
        let (first, last) = (self.intervals[low].first, self.intervals[high].last);
        if last - first >= 32 {
            return None;
        }
        let classes = [self.intervals[low].class, self.intervals[low + 1].class];
        let two =
            self.intervals[low..=high].iter().all(|interval| classes.contains(&interval.class));
        let insns = if first == 0 { BITSET_INSNS - 1.0 } else { BITSET_INSNS };
        two.then(|| insns * (self.price.size + self.weight(low, high)))
    }

    /// A chain of equality tests, the heaviest first, before a mask that separates the rest; the cost first.
    fn masked(&self, low: usize, high: usize) -> Option<(f64, Vec<usize>, MaskTest)> {
        self.mask_end.get(low).filter(|end| high < **end)?;
        let (mut singles, test) = masks::mask_after_singles(&self.intervals[low..=high])?;
        singles.iter_mut().for_each(|single| *single += low);
        self.heaviest_first(&mut singles);
        let rest: f64 = singles.iter().map(|single| self.intervals[*single].weight).sum();
        let rest = self.weight(low, high) - rest;
        Some((self.chain_cost(&singles, rest) + self.price.size + rest, singles, test))
    }

    fn is_heavy(&self, single: usize, weight: f64) -> bool {
        self.intervals[single].weight >= HEAVY * weight && self.intervals[single].weight > 0.0
    }

    fn weight(&self, low: usize, high: usize) -> f64 {
        self.before[high + 1] - self.before[low]
    }

    /// Sorts intervals by descending weight, then by index.
    fn heaviest_first(&self, singles: &mut [usize]) {
        singles.sort_by(|a, b| {
            self.intervals[*b].weight.total_cmp(&self.intervals[*a].weight).then(a.cmp(b))
        });
    }

    /// The holes of a range.
    fn holes(&self, (low, high, holes): Range) -> Vec<usize> {
        if holes == 0 {
            return Vec::new();
        }
        let mut singles: Vec<usize> =
            (low..=high).filter(|interval| self.intervals[*interval].is_single()).collect();
        self.heaviest_first(&mut singles);
        singles.truncate(holes);
        singles
    }

    fn solve(&mut self, range: Range) -> (f64, Choice) {
        let (low, high, holes) = range;
        if holes == 0 {
            let at = low * self.intervals.len() + high;
            return (self.costs_from[at], self.choices[at]);
        }
        if let Some(done) = self.holed.get(&range) {
            return *done;
        }
        let best = self.best_holed(range);
        self.holed.insert(range, best);
        best
    }

    /// One part of a range with holes.
    fn part(&self, low: usize, high: usize, holes: &[usize]) -> Range {
        (low, high, holes.iter().filter(|hole| (low..=high).contains(hole)).count())
    }

    fn best_holed(&mut self, range: Range) -> (f64, Choice) {
        let (low, high, _) = range;
        let holes = self.holes(range);
        if self.exact.covers(high + 1 - low) {
            return (self.exact.cost(Subset::new(low, high, &holes)), Choice::Exact);
        }
        let mut best = (f64::INFINITY, Choice::Leaf);
        if let Some(chain) = self.chain(low, high, &holes) {
            if chain.singles.is_empty() {
                return (0.0, Choice::Leaf);
            }
            best = (chain.cost, Choice::Chain);
        }
        let hole_weight: f64 = holes.iter().map(|hole| self.intervals[*hole].weight).sum();
        let weight = self.weight(low, high) - hole_weight;
        let test = weight + self.price.size;
        for at in low + 1..=high {
            let (left, right) = (self.part(low, at - 1, &holes), self.part(at, high, &holes));
            // A part that consists of holes needs no test.
            if left.2 == at - low || right.2 == high + 1 - at {
                continue;
            }
            let cost = self.solve(left).0 + self.solve(right).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Split(at as u16));
            }
        }
        let heaviest =
            (low..=high).filter(|i| !holes.contains(i)).fold(None, |b, i| self.heavier(b, i));
        if let Some(single) = heaviest.filter(|interval| self.is_heavy(*interval, weight)) {
            let cost = self.solve((low, high, holes.len() + 1)).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Equal(single as u16));
            }
        }
        best
    }

    /// The cost of a chain for a range without holes, if it is below a bound.
    fn plain_chain(&self, low: usize, high: usize, weight: f64, bound: f64) -> Option<f64> {
        let known = &self.chain_bounds[low];
        let cost = match known.cost(weight, self.price) {
            _ if known.others > self.price.chain => return None,
            ChainCost::Exactly(cost) => cost,
            ChainCost::AtLeast(least) if least >= bound => return None,
            ChainCost::AtLeast(_) => self.chain(low, high, &[])?.cost,
        };
        Some(cost).filter(|cost| *cost < bound)
    }

    /// A chain of equality tests, if all intervals but a few single values have the same class.
    fn chain(&self, low: usize, high: usize, holes: &[usize]) -> Option<Chain> {
        let live = (low..=high).filter(|i| holes.is_empty() || !holes.contains(i));
        // The class of the intervals that are not single values, otherwise of the heaviest single value.
        let mut wide: Option<usize> = None;
        let mut heaviest: Option<usize> = None;
        for i in live.clone() {
            let interval = &self.intervals[i];
            if !interval.is_single() {
                match wide {
                    Some(class) if class != interval.class => return None,
                    _ => wide = Some(interval.class),
                }
            } else if heaviest.is_none_or(|best| interval.weight > self.intervals[best].weight) {
                heaviest = Some(i);
            }
        }
        let class = wide.or_else(|| heaviest.map(|i| self.intervals[i].class))?;
        let mut singles = Vec::new();
        let mut rest = 0.0;
        for i in live {
            let interval = &self.intervals[i];
            if interval.class == class {
                rest += interval.weight;
            } else if singles.len() < self.price.chain {
                singles.push(i);
            } else {
                return None;
            }
        }
        self.heaviest_first(&mut singles);
        let cost = self.chain_cost(&singles, rest);
        Some(Chain { class, singles, cost })
    }

    /// The cost of a chain of equality tests before a rest of this weight.
    fn chain_cost(&self, singles: &[usize], rest: f64) -> f64 {
        let mut cost = singles.len() as f64 * (self.price.size + rest);
        for (depth, single) in singles.iter().enumerate() {
            cost += (depth + 1) as f64 * self.intervals[*single].weight;
        }
        cost
    }

    /// Adds the chosen tree of a range. Each recursion has fewer intervals or more holes.
    fn emit(&mut self, range: Range, tree: &mut Tree) -> usize {
        let (low, high, _) = range;
        let holes = self.holes(range);
        let first_live = || (low..=high).find(|i| !holes.contains(i)).unwrap_or(low);
        match self.solve(range).1 {
            Choice::Leaf => tree.leaf(self.intervals[first_live()].class),
            Choice::Exact => self.exact.emit(Subset::new(low, high, &holes), tree),
            Choice::Split(at) => {
                let at = usize::from(at);
                let (left, right) = (self.part(low, at - 1, &holes), self.part(at, high, &holes));
                let otherwise = self.emit(left, tree);
                let then = self.emit(right, tree);
                let split = Split::AtLeast(self.intervals[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit((low, high, holes.len() + 1), tree);
                tree.equal(&self.intervals[usize::from(single)], otherwise)
            }
            Choice::Chain => {
                let Some(chain) = self.chain(low, high, &holes) else {
                    return tree.leaf(self.intervals[first_live()].class);
                };
                let rest = tree.leaf(chain.class);
                self.emit_chain(&chain.singles, rest, tree)
            }
            Choice::Masked => {
                let Some((_, singles, test)) = self.masked(low, high) else {
                    return tree.leaf(self.intervals[low].class);
                };
                let rest = tree.any_bit(test);
                self.emit_chain(&singles, rest, tree)
            }
            Choice::Bitset => {
                let intervals = &self.intervals[low..=high];
                let (base, set) = (self.intervals[low].first, self.intervals[low + 1].class);
                let of_set = intervals.iter().filter(|interval| interval.class == set);
                let bits = of_set.flat_map(|interval| interval.first..=interval.last);
                let bits = bits.fold(0, |bits, value| bits | 1 << (value - base));
                let then = tree.leaf(set);
                let otherwise = tree.leaf(self.intervals[low].class);
                tree.push(Node::Bitset { base, bits, then, otherwise })
            }
        }
    }

    /// Adds a chain of equality tests before the existing node `rest`.
    fn emit_chain(&self, singles: &[usize], rest: usize, tree: &mut Tree) -> usize {
        let tests = singles.iter().rev();
        tests.fold(rest, |otherwise, single| tree.equal(&self.intervals[*single], otherwise))
    }
}

/// The smallest sum of two numbers with the same index, and the first such index.
///
/// This is the innermost loop of the dynamic program. Four independent minima permit parallel execution.
fn least_sum(left: &[f64], right: &[f64]) -> (f64, usize) {
    let mut least = [f64::INFINITY; 4];
    let (left_fours, right_fours) = (left.chunks_exact(4), right.chunks_exact(4));
    let (left_rest, right_rest) = (left_fours.remainder(), right_fours.remainder());
    for (left, right) in left_fours.zip(right_fours) {
        for ((least, left), right) in least.iter_mut().zip(left).zip(right) {
            let sum = left + right;
            *least = if sum < *least { sum } else { *least };
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left + right);
    let least = least.into_iter().chain(rest).fold(f64::INFINITY, f64::min);
    let at = left.iter().zip(right).position(|(left, right)| left + right == least);
    (least, at.unwrap_or(0))
}
