//! What runs of values have in common, and which single values spoil it.

use super::tree::bits::all_bits;
use crate::query::Interval;
use callgate_proof::diagram::Func;

/// Values fill the bits that they do not have in common when they are one in so many of those that
/// these bits can be. Where they are fewer, a mask says little of them: each has to be told from its
/// neighbours all the same.
const SPARSE: u128 = 8;

/// Bits of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Common {
    /// Those that any has.
    any: u32,
    /// Those that all have.
    all: u32,
    /// How many values.
    values: u128,
}

impl Common {
    const NONE: Common = Common { any: 0, all: u32::MAX, values: 0 };

    fn of(run: &Interval) -> Common {
        let Interval { first, last, .. } = *run;
        let values = u128::from(last - first) + 1;
        // What they have in common stands above the highest bit in which they differ.
        let differ = u32::MAX.checked_shr((first ^ last).leading_zeros()).unwrap_or(0);
        Common { any: all_bits(first, last), all: first & !differ, values }
    }

    fn with(self, other: Common) -> Common {
        Common {
            any: self.any | other.any,
            all: self.all & other.all,
            values: self.values + other.values,
        }
    }

    /// How many bits differ among the values, of those that are held.
    fn free(self, held: u32) -> u32 {
        (self.any & !self.all & held).count_ones()
    }

    /// Whether the values fill the bits that they do not have in common.
    pub(super) fn is_dense(self, held: u32) -> bool {
        self.values * SPARSE >= 1 << self.free(held)
    }
}

/// The single values without which those that do not lead to `exit` have more in common, so that a mask
/// may tell them from the rest. Two that spoil it together are both named if `two` may be out of the
/// way.
pub(super) fn spoilers(runs: &[Interval], exit: Func, held: u32, two: bool) -> Vec<Interval> {
    let others: Vec<&Interval> = runs.iter().filter(|run| run.then != exit).collect();
    let common: Vec<Common> = others.iter().map(|run| Common::of(run)).collect();
    // Of all from each on; and of all before it while it goes on.
    let mut after = vec![Common::NONE; common.len() + 1];
    for (at, one) in common.iter().enumerate().rev() {
        after[at] = after[at + 1].with(*one);
    }
    let whole = after[0].free(held);
    let helps = |rest: Common| rest.values > 0 && rest.free(held) < whole && rest.is_dense(held);
    let is_single = |at: usize| others[at].first == others[at].last;
    let mut spoils = vec![false; common.len()];
    let mut before = Common::NONE;
    for first in 0..common.len() {
        if is_single(first) {
            spoils[first] |= helps(before.with(after[first + 1]));
            let mut between = before;
            for second in first + 1..if two { common.len() } else { 0 } {
                if is_single(second) && helps(between.with(after[second + 1])) {
                    spoils[first] = true;
                    spoils[second] = true;
                }
                between = between.with(common[second]);
            }
        }
        before = before.with(common[first]);
    }
    let named = others.into_iter().zip(spoils).filter(|(_, spoils)| *spoils);
    named.map(|(run, _)| *run).collect()
}

/// What the values have in common that do not lead to `exit`.
pub(super) fn except(runs: &[Interval], exit: Func) -> Common {
    let others = runs.iter().filter(|run| run.then != exit);
    others.fold(Common::NONE, |common, run| common.with(Common::of(run)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::verdict::Verdict;
    use callgate_proof::diagram::Store;

    fn runs(singles: &[u32]) -> (Vec<Interval>, Func) {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let mut runs: Vec<Interval> = Vec::new();
        let mut next = 0;
        for single in singles {
            if *single > next {
                runs.push(Interval { first: next, last: single - 1, then: deny });
            }
            runs.push(Interval { first: *single, last: *single, then: allow });
            next = single.wrapping_add(1);
        }
        if next != 0 {
            runs.push(Interval { first: next, last: u32::MAX, then: deny });
        }
        (runs, deny)
    }

    fn spoiling(singles: &[u32], two: bool) -> Vec<u32> {
        let (runs, deny) = runs(singles);
        spoilers(&runs, deny, u32::MAX, two).iter().map(|run| run.first).collect()
    }

    #[test]
    fn what_spoils_a_pattern_is_named() {
        assert_eq!(spoiling(&[0, 8, 0x20000, 0x20008, u32::MAX], false), [u32::MAX]);
        assert_eq!(spoiling(&[0, 1, 0x80, 0x81], false), []);
        assert_eq!(spoiling(&[0, 8, 0x555, 0x20000, 0x20008, u32::MAX], true), [0x555, u32::MAX]);
        assert_eq!(spoiling(&[0, 8, 0x555, 0x20000, 0x20008, u32::MAX], false), []);
    }

    #[test]
    fn scattered_values_have_no_pattern_to_spoil() {
        let scattered: Vec<u32> = (1..12u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let mut sorted = scattered.clone();
        sorted.sort_unstable();
        assert_eq!(spoiling(&sorted, true), []);
        let (runs, deny) = runs(&sorted);
        assert!(!except(&runs, deny).is_dense(u32::MAX));
    }
}
