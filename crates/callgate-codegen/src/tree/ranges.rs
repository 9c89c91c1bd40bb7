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

use super::chain::{Chain, ChainBound, ChainCost, ChainSum};
use super::holed::{HoledRanges, Range};
use super::holes::Holes;
use super::interval::WeightedInterval;
use super::masks::{self, MaskClasses};
use super::node::{Node, Tree};
use super::plain_costs::{Pieces, PlainCosts};
use super::price::Price;
use super::ranks::Ranks;
use super::subsets::{Subset, SubsetSearch};
use callgate_proof::diagram::Split;

/// The minimum share of the weight with which a single value is tested for equality before an order test. Below it,
/// a split is cheaper.
const HEAVY: f64 = 0.2;

/// Makes a sum of costs a lower bound despite rounding, so that of equal trees the same one is chosen.
const ROUNDED_DOWN: f64 = 1.0 - 1e-9;

/// The maximum number of intervals for which a mask is searched.
const MAX_MASKED: usize = 14;

/// The number of instructions of a bitset test, all of which are executed; one less if its base is 0.
const BITSET_INSNS: f64 = 5.0;

/// A compact form, because there is one per range. A range has at most [`Price::whole`] intervals.
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

/// The minimum number of single values that are tested before a mask which separates two classes.
#[derive(Clone, Copy, Default)]
struct MaskBound {
    classes: [usize; 2],
    singles: u32,
}

pub(super) struct RangeSearch<'a> {
    intervals: &'a [WeightedInterval],
    price: Price,
    exact: SubsetSearch<'a>,
    /// Per interval, the sum of the weights before it.
    before: Vec<f64>,
    /// For ranges without holes, the choices by `low * n + high`.
    choices: Vec<Choice>,
    costs: PlainCosts,
    /// Per interval, the last interval of the longest chain from there.
    chain_end: Vec<usize>,
    /// Per interval, a bound of the cost of a chain from there to the current end.
    chain_bounds: Vec<ChainBound>,
    /// Per interval, the bound of the longest range from there in which a mask was searched for.
    mask_bounds: Vec<MaskBound>,
    /// Per interval, the first one from there that is not a single value.
    first_wide: Vec<usize>,
    /// Per interval, the two classes that a mask may separate from there to the current end.
    mask_classes: Vec<MaskClasses>,
    /// The single values, the heaviest first.
    ranks: Ranks,
    /// The solutions of ranges with holes for which [`RangeSearch::exact`] has none.
    holed: HoledRanges<Choice>,
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
            costs: PlainCosts::new(n),
            chain_end: Vec::new(),
            chain_bounds: vec![ChainBound::default(); n],
            mask_bounds: vec![MaskBound::default(); n],
            first_wide: vec![n; n],
            mask_classes: vec![MaskClasses::default(); n],
            ranks: Ranks::new(intervals),
            holed: HoledRanges::new(n),
        };
        let mut first_wide = n;
        for (at, interval) in intervals.iter().enumerate().rev() {
            first_wide = if interval.is_single() { first_wide } else { at };
            ranges.first_wide[at] = first_wide;
        }
        ranges.chain_end = (0..n).map(|low| ranges.last_of_chain(low)).collect();
        ranges
    }

    pub(super) fn build(mut self, tree: &mut Tree) -> usize {
        let n = self.intervals.len();
        for high in 0..n {
            for low in (0..=high).rev() {
                if high <= self.chain_end[low] {
                    self.chain_bounds[low].add(&self.intervals[low..=high]);
                }
                if high - low < MAX_MASKED {
                    self.mask_classes[low].add(&self.intervals[high]);
                }
                let (cost, choice) = self.best_plain(low, high);
                self.choices[low * n + high] = choice;
                self.costs.set(low, high, cost);
            }
        }
        tree.cost += self.costs.get(0, n);
        self.emit((0, n - 1, 0), tree)
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
        let least = self.costs.cheapest_split(low, high);
        let weight = self.weight(low, high);
        let test = weight + self.price.size;
        let mut best = (least + test, Choice::CheapestSplit);
        if self.chain_end[low] >= high {
            if let Some(cost) = self.plain_chain(low, high, weight, best.0) {
                best = (cost, if cost > 0.0 { Choice::Chain } else { Choice::Leaf });
            }
        }
        let heaviest = self.ranks.singles(low, high).next();
        let heaviest_weight = heaviest.map_or(0.0, |single| self.intervals[single].weight);
        if let Some(cost) = self.masked_cost(low, high, weight, heaviest_weight, best.0) {
            best = (cost, Choice::Masked);
        }
        if let Some(single) = heaviest.filter(|interval| self.is_heavy(*interval, weight)) {
            let parts = self.costs.get(low, single) + self.costs.get(single + 1, high + 1);
            if (parts + test) * ROUNDED_DOWN < best.0 {
                let (cost, _) = self.solve_holed((low, high, 1), &Holes::NONE.and(single));
                let cost = cost + test;
                if cost < best.0 {
                    best = (cost, Choice::Equal(single as u16));
                }
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
    fn masked_cost(
        &mut self,
        low: usize,
        high: usize,
        weight: f64,
        heaviest: f64,
        bound: f64,
    ) -> Option<f64> {
        if !self.price.masks || !self.price.masks_after_singles || high - low >= MAX_MASKED {
            return None;
        }
        let classes = self.mask_classes[low].get()?;
        let most = self.affordable_singles(weight, heaviest, bound)?;
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

    fn is_heavy(&self, single: usize, weight: f64) -> bool {
        self.intervals[single].weight >= HEAVY * weight && self.intervals[single].weight > 0.0
    }

    fn weight(&self, low: usize, high: usize) -> f64 {
        self.before[high + 1] - self.before[low]
    }

    /// The holes of a range.
    fn holes(&self, (low, high, count): Range) -> Holes {
        self.ranks.singles(low, high).take(count).fold(Holes::NONE, Holes::and)
    }

    /// The cost of a range with these holes, and possibly more outside of it.
    #[inline(always)]
    fn cost(&mut self, range: Range, holes: &Holes) -> f64 {
        let (low, high, count) = range;
        if count == 0 {
            self.costs.get(low, high + 1)
        } else if self.exact.covers(high + 1 - low) {
            self.exact.cost(Subset::new(low, high, holes))
        } else {
            self.solve_holed(range, holes).0
        }
    }

    /// The choice for a range with these holes.
    fn choice(&mut self, range: Range, holes: &Holes) -> Choice {
        let (low, high, count) = range;
        if count == 0 {
            self.choices[low * self.intervals.len() + high]
        } else if self.exact.covers(high + 1 - low) {
            Choice::Exact
        } else {
            self.solve_holed(range, holes).1
        }
    }

    /// The solution of a range with holes that [`RangeSearch::exact`] does not cover.
    fn solve_holed(&mut self, range: Range, holes: &Holes) -> (f64, Choice) {
        if let Some(done) = self.holed.get(range) {
            return done;
        }
        let best = self.best_holed(range, holes);
        self.holed.insert(range, best);
        best
    }

    fn best_holed(&mut self, range: Range, holes: &Holes) -> (f64, Choice) {
        let (low, high, count) = range;
        let class = self.class_of_rest(range);
        let chain = class.and_then(|class| self.chain_tests(low, high, class, holes));
        // The excluded single values, the heaviest of the others, and the cost of a chain, in one pass.
        let (mut seen, mut excluded, mut heaviest) = (0, 0.0, None);
        let mut chain_cost = ChainSum::new(chain, self.price);
        for single in self.ranks.singles(low, high) {
            seen += 1;
            let interval = &self.intervals[single];
            if seen <= count {
                excluded += interval.weight;
                continue;
            }
            heaviest = heaviest.or(Some(single));
            match (chain, class) {
                (Some(_), Some(class)) if interval.class == class => {}
                (Some(_), _) => chain_cost.add(interval.weight),
                (None, _) => break,
            }
        }
        let mut best = match chain {
            Some((0, _)) => return (0.0, Choice::Leaf),
            Some(_) => (chain_cost.sum(), Choice::Chain),
            None => (f64::INFINITY, Choice::Leaf),
        };
        let weight = self.weight(low, high) - excluded;
        let test = weight + self.price.size;
        let mut pieces = Pieces::new(&self.costs, low, high, holes);
        let mut left = 0;
        for at in low + 1..=high {
            if holes.contains(at - 1) {
                left += 1;
                pieces.pass(&self.costs, at - 1, high, holes);
            }
            let right = count - left;
            // A part that consists of holes needs no test.
            if left == at - low || right == high + 1 - at {
                continue;
            }
            if (pieces.at_least(&self.costs, at) + test) * ROUNDED_DOWN >= best.0 {
                continue;
            }
            let cost = self.cost((low, at - 1, left), holes) + test;
            // No cost is negative.
            if cost >= best.0 {
                continue;
            }
            let cost = cost + self.cost((at, high, right), holes);
            if cost < best.0 {
                best = (cost, Choice::Split(at as u16));
            }
        }
        if let Some(single) = heaviest.filter(|interval| self.is_heavy(*interval, weight)) {
            let holes = holes.and(single);
            if (Pieces::new(&self.costs, low, high, &holes).sum() + test) * ROUNDED_DOWN < best.0 {
                let (cost, _) = self.solve_holed((low, high, count + 1), &holes);
                let cost = cost + test;
                if cost < best.0 {
                    best = (cost, Choice::Equal(single as u16));
                }
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
            ChainCost::AtLeast(_) => self.chain((low, high, 0), &Holes::NONE)?.cost,
        };
        Some(cost).filter(|cost| *cost < bound)
    }

    /// A chain of equality tests, if all intervals but a few single values have the same class.
    fn chain(&self, range: Range, holes: &Holes) -> Option<Chain> {
        let (low, high, _) = range;
        let class = self.class_of_rest(range)?;
        let (singles, rest) = self.chain_tests(low, high, class, holes)?;
        let cost = self.chain_cost(self.chained(range, class), singles, rest);
        Some(Chain { class, cost })
    }

    /// The class of the rest of a chain: that of the intervals that are not single values, otherwise of the heaviest
    /// single value.
    fn class_of_rest(&self, (low, high, holes): Range) -> Option<usize> {
        let wide = Some(self.first_wide[low]).filter(|wide| *wide <= high);
        let deciding = wide.or_else(|| self.ranks.singles(low, high).nth(holes))?;
        Some(self.intervals[deciding].class)
    }

    /// The number of tests of a chain before a rest of this class, and the weight of the rest.
    fn chain_tests(
        &self,
        low: usize,
        high: usize,
        class: usize,
        holes: &Holes,
    ) -> Option<(usize, f64)> {
        let (mut singles, mut rest) = (0, 0.0);
        for (at, interval) in (low..).zip(&self.intervals[low..=high]) {
            if holes.contains(at) {
                continue;
            }
            if interval.class == class {
                rest += interval.weight;
            } else if interval.is_single() && singles < self.price.chain {
                singles += 1;
            } else {
                return None;
            }
        }
        Some((singles, rest))
    }

    /// The single values that a chain tests before a rest of this class, in the order of their tests.
    fn chained(&self, (low, high, holes): Range, class: usize) -> impl Iterator<Item = usize> {
        let live = self.ranks.singles(low, high).skip(holes);
        live.filter(move |single| self.intervals[*single].class != class)
    }

    /// The cost of a chain of this number of equality tests before a rest of this weight.
    fn chain_cost(&self, singles: impl Iterator<Item = usize>, count: usize, rest: f64) -> f64 {
        let mut cost = ChainSum::new(Some((count, rest)), self.price);
        singles.for_each(|single| cost.add(self.intervals[single].weight));
        cost.sum()
    }

    /// Adds the chosen tree of a range. Each recursion has fewer intervals or more holes.
    fn emit(&mut self, range: Range, tree: &mut Tree) -> usize {
        let (low, high, count) = range;
        let holes = self.holes(range);
        let first_live = || (low..=high).find(|i| !holes.contains(*i)).unwrap_or(low);
        match self.choice(range, &holes) {
            Choice::Leaf => tree.leaf(self.intervals[first_live()].class),
            Choice::Exact => self.exact.emit(Subset::new(low, high, &holes), tree),
            choice @ (Choice::Split(_) | Choice::CheapestSplit) => {
                let at = match choice {
                    Choice::Split(at) => usize::from(at),
                    _ => self.costs.start_of_cheapest_split(low, high),
                };
                let left = (low..at).filter(|interval| holes.contains(*interval)).count();
                let otherwise = self.emit((low, at - 1, left), tree);
                let then = self.emit((at, high, count - left), tree);
                let split = Split::AtLeast(self.intervals[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit((low, high, count + 1), tree);
                tree.equal(&self.intervals[usize::from(single)], otherwise)
            }
            Choice::Chain => {
                let Some(chain) = self.chain(range, &holes) else {
                    return tree.leaf(self.intervals[first_live()].class);
                };
                let singles: Vec<usize> = self.chained(range, chain.class).collect();
                let rest = tree.leaf(chain.class);
                self.emit_chain(&singles, rest, tree)
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
