//! Masks in ranges: a chain of equality tests before a mask that separates the rest.

use super::mask_bounds::{MAX_MASKED, MaskBound};
use super::masks;
use super::range_search::{ROUNDED_DOWN, RangeSearch};

impl RangeSearch {
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
    pub(super) fn masked_cost(
        &mut self,
        low: usize,
        high: usize,
        heaviest: f64,
        bound: f64,
    ) -> Option<f64> {
        if !self.price.masks || !self.price.masks_after_singles || high - low >= MAX_MASKED {
            return None;
        }
        let classes = self.masks.classes[low].get()?;
        let most = self.affordable_singles(self.weight(low, high), heaviest, bound)?;
        // Parts of the range need at least as few single values.
        let same = |[a, b]: [usize; 2]| [a, b] == classes || [b, a] == classes;
        let of_part = |part: &MaskBound| if same(part.classes) { part.singles } else { 0 };
        let least = self.masks.bounds[low..=low + 1].iter().map(of_part).max().unwrap_or(0);
        let found = match least <= most {
            true => masks::mask_after_singles(&self.intervals[low..=high], classes, most),
            false => None,
        };
        let singles = match &found {
            Some((singles, _)) => singles.count_ones(),
            None => least.max(most + 1),
        };
        self.masks.bounds[low] = MaskBound { classes, singles };
        let (cost, _) = self.before_mask(low, high, found?.0);
        Some(cost).filter(|cost| *cost < bound)
    }

    /// The cost of a chain of equality tests of a set of single values before a mask that separates the rest, and the
    /// single values in the order of their tests.
    pub(super) fn before_mask(
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
}
