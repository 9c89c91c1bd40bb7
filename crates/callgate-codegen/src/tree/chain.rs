//! Chains of equality tests of single values, before a rest of one class.

use super::node::{Tree, WeightedInterval};
use super::price::Price;

/// A chain of equality tests.
pub(super) struct Chain {
    /// The class of the rest.
    pub(super) class: usize,
    pub(super) cost: f64,
}

/// The cost of a chain, summed up over its single values in the order of their tests.
pub(super) struct ChainSum {
    sum: f64,
    depth: usize,
}

impl ChainSum {
    /// The cost for the rest: the number of tests, and the weight of the rest.
    pub(super) fn new(chain: Option<(usize, f64)>, price: Price) -> ChainSum {
        let (tests, rest) = chain.unwrap_or_default();
        ChainSum { sum: tests as f64 * (price.size + rest), depth: 0 }
    }

    /// Adds the next single value.
    pub(super) fn add(&mut self, weight: f64) {
        self.depth += 1;
        self.sum += self.depth as f64 * weight;
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }
}

/// The chain over all intervals of a list.
pub(super) struct WholeChain<'i> {
    /// The class of the rest.
    class: usize,
    /// The single values in the order of their tests, the heaviest first.
    singles: Vec<&'i WeightedInterval>,
    pub(super) cost: f64,
}

impl<'i> WholeChain<'i> {
    /// The chain, unless there are too many single values, or intervals of several classes that are none.
    pub(super) fn new(intervals: &'i [WeightedInterval], price: Price) -> Option<WholeChain<'i>> {
        let class = intervals.iter().find(|interval| !interval.is_single())?.class;
        let mut singles = Vec::new();
        let mut rest = 0.0;
        for interval in intervals {
            if interval.class == class {
                rest += interval.weight;
            } else if interval.is_single() && singles.len() < price.chain {
                singles.push(interval);
            } else {
                return None;
            }
        }
        singles.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut cost = ChainSum::new(Some((singles.len(), rest)), price);
        singles.iter().for_each(|single| cost.add(single.weight));
        Some(WholeChain { class, singles, cost: cost.sum() })
    }

    /// Adds the chain.
    pub(super) fn emit(&self, tree: &mut Tree) -> usize {
        tree.cost += self.cost;
        let rest = tree.leaf(self.class);
        tree.chain(self.singles.iter().copied(), rest)
    }
}

/// The properties of a chain that determine its cost, or a lower bound, without sorting its single values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainBound {
    /// The class of the intervals that are not single values.
    wide: Option<usize>,
    /// The number of single values of other classes.
    pub(super) others: usize,
    /// Their total, maximum and minimum weight.
    tested: f64,
    heaviest: f64,
    lightest: f64,
}

/// The cost of a chain.
pub(super) enum ChainCost {
    Exactly(f64),
    AtLeast(f64),
}

impl ChainBound {
    /// Adds an interval to the range that begins at `low` and ends before it.
    #[inline(always)]
    pub(super) fn add(&mut self, intervals: &[WeightedInterval], low: usize, at: usize) {
        let last = &intervals[at];
        match self.wide {
            Some(_) => self.add_single(last),
            // Before the first wide interval it is unknown which single values are tested.
            None if last.is_single() => {}
            None => {
                self.wide = Some(last.class);
                intervals[low..at].iter().for_each(|interval| self.add_single(interval));
            }
        }
    }

    fn add_single(&mut self, interval: &WeightedInterval) {
        if self.wide != Some(interval.class) {
            self.lightest =
                if self.others == 0 { interval.weight } else { self.lightest.min(interval.weight) };
            self.heaviest = self.heaviest.max(interval.weight);
            self.others += 1;
            self.tested += interval.weight;
        }
    }

    /// The cost of the chain in a range of this weight: the rest pays for all tests, each single value for those up
    /// to its own. The bound assumes as few and as heavy single values as possible, unless a simpler one already exceeds
    /// `bound`.
    pub(super) fn cost(&self, weight: f64, price: Price, bound: f64) -> ChainCost {
        let others = self.others as f64;
        let before_rest = others * (price.size + weight - self.tested);
        let simple = (before_rest + self.tested) * (1.0 - 1e-9);
        if self.wide.is_some() && simple >= bound {
            ChainCost::AtLeast(simple)
        } else if self.wide.is_none() {
            ChainCost::AtLeast(0.0)
        } else if self.heaviest == self.lightest {
            ChainCost::Exactly(before_rest + self.heaviest * others * (others + 1.0) / 2.0)
        } else {
            // Not `floor`, which is a call on some machines.
            let few = (self.tested / self.heaviest) as i64 as f64;
            let left = self.tested - few * self.heaviest;
            let tested = self.heaviest * few * (few + 1.0) / 2.0 + left * (few + 1.0);
            // The factor makes it a lower bound despite rounding.
            ChainCost::AtLeast((before_rest + tested) * (1.0 - 1e-9))
        }
    }
}
