//! Equality tests in ranges: of the heaviest single value, after which the range has a hole, and chains of them.

use super::chain::{Chain, ChainCost, ChainSum};
use super::holes::{Holes, Range};
use super::plain_costs::Pieces;
use super::ranges::{Choice, ROUNDED_DOWN, RangeSearch, above};
use super::subsets::Subset;

impl RangeSearch {
    /// Whether a single value of this weight is tested for equality first in a range of this weight.
    #[inline(always)]
    pub(super) fn is_heavy(&self, single: f64, weight: f64) -> bool {
        single >= self.heavy * weight && single > 0.0
    }

    /// The holes of a range.
    pub(super) fn holes(&self, (low, high, count): Range) -> Holes {
        self.ranks.singles(low, high).take(count).fold(Holes::NONE, Holes::and)
    }

    /// The cost of a range with these holes, and possibly more outside of it, if it is below a bound.
    #[inline(always)]
    fn cost(&mut self, range: Range, holes: &Holes, bound: f64) -> f64 {
        let (low, high, count) = range;
        if count == 0 {
            self.costs.get(low, high + 1)
        } else if self.exact.covers(high + 1 - low) {
            self.exact.cost(Subset::new(low, high, holes))
        } else {
            self.solve_holed(range, holes, bound)
        }
    }

    /// The choice for a range with these holes.
    pub(super) fn choice(&mut self, range: Range, holes: &Holes) -> Choice {
        let (low, high, count) = range;
        if count == 0 {
            return self.choices[self.costs.number(low, high)];
        } else if self.exact.covers(high + 1 - low) {
            return Choice::Exact;
        }
        self.solve_holed(range, holes, f64::INFINITY);
        match self.holed.get(self.costs.number(low, high), count) {
            Some((_, Some(choice))) => choice,
            _ => Choice::Leaf,
        }
    }

    /// The cost of a range with holes that [`RangeSearch::exact`] does not cover, if it is below a bound; otherwise a
    /// lower bound.
    pub(super) fn solve_holed(&mut self, range: Range, holes: &Holes, bound: f64) -> f64 {
        let number = self.costs.number(range.0, range.1);
        match self.holed.get(number, range.2) {
            Some((cost, Some(_))) => return cost,
            Some((at_least, None)) if at_least >= bound => return at_least,
            _ => {}
        }
        let (cost, choice) = self.best_holed(range, holes, bound);
        self.holed.insert(number, range.2, (cost, choice));
        cost
    }

    /// The choice with the least cost, if that is below a bound; otherwise the bound.
    fn best_holed(&mut self, range: Range, holes: &Holes, bound: f64) -> (f64, Option<Choice>) {
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
            Some((0, _)) => return (0.0, Some(Choice::Leaf)),
            Some(_) if chain_cost.sum() < bound => (chain_cost.sum(), Some(Choice::Chain)),
            _ => (bound, None),
        };
        let weight = self.weight(low, high) - excluded;
        let test = weight + self.price.size;
        let mut pieces = Pieces::new(&self.costs, low, high, holes);
        let (mut left, mut start) = (0, low);
        while start <= high {
            let end = pieces.end();
            self.best_split(range, holes, (left, start..end), (&pieces, test), &mut best);
            if end > high {
                break;
            }
            left += 1;
            pieces.pass(&self.costs, end, high, holes);
            start = end + 1;
        }
        if let Some(single) =
            heaviest.filter(|single| self.is_heavy(self.intervals[*single].weight, weight))
        {
            let holes = holes.and(single);
            if (Pieces::new(&self.costs, low, high, &holes).sum() + test) * ROUNDED_DOWN < best.0 {
                let bound = above(best.0 - test);
                let cost = self.solve_holed((low, high, count + 1), &holes, bound) + test;
                if cost < best.0 {
                    best = (cost, Some(Choice::Equal((single - low) as u16)));
                }
            }
        }
        best
    }

    /// Tries the splits whose upper part begins in the current piece, or with the hole before it.
    fn best_split(
        &mut self,
        (low, high, count): Range,
        holes: &Holes,
        (left, piece): (usize, std::ops::Range<usize>),
        (pieces, test): (&Pieces, f64),
        best: &mut (f64, Option<Choice>),
    ) {
        let right = count - left;
        let mut units = self.costs.units_from(piece.start.max(low + 1), piece.end.min(high));
        loop {
            let bound = best.0 / ROUNDED_DOWN - test;
            let next = pieces.next_split(&self.costs, units.clone(), bound);
            let Some(unit) = next else { break };
            units.start = unit + 1;
            let at = self.starts[unit];
            // A part that consists of holes needs no test.
            if left == at - low || right == high + 1 - at {
                continue;
            }
            let bound = above(best.0 - test);
            let cost = self.cost((low, at - 1, left), holes, bound) + test;
            // No cost is negative.
            if cost >= best.0 {
                continue;
            }
            let cost = cost + self.cost((at, high, right), holes, above(best.0 - cost));
            if cost < best.0 {
                *best = (cost, Some(Choice::Split((at - low) as u16)));
            }
        }
    }

    /// The cost of a chain for a range without holes, if it is below a bound.
    pub(super) fn plain_chain(&self, low: usize, high: usize, bound: f64) -> Option<f64> {
        let known = &self.ends[low].chain;
        if known.others > self.price.chain {
            return None;
        }
        let cost = match known.cost(self.weight(low, high), self.price, bound) {
            ChainCost::Exactly(cost) => cost,
            ChainCost::AtLeast(least) if least >= bound => return None,
            ChainCost::AtLeast(_) => self.chain((low, high, 0), &Holes::NONE)?.cost,
        };
        Some(cost).filter(|cost| *cost < bound)
    }

    /// A chain of equality tests, if all intervals but a few single values have the same class.
    pub(super) fn chain(&self, range: Range, holes: &Holes) -> Option<Chain> {
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
    pub(super) fn chained(
        &self,
        (low, high, holes): Range,
        class: usize,
    ) -> impl Iterator<Item = usize> {
        let live = self.ranks.singles(low, high).skip(holes);
        live.filter(move |single| self.intervals[*single].class != class)
    }

    /// The cost of a chain of this number of equality tests before a rest of this weight.
    pub(super) fn chain_cost(
        &self,
        singles: impl Iterator<Item = usize>,
        count: usize,
        rest: f64,
    ) -> f64 {
        let mut cost = ChainSum::new(Some((count, rest)), self.price);
        singles.for_each(|single| cost.add(self.intervals[single].weight));
        cost.sum()
    }
}
