//! The cofactors of a function of the syscall number for many numbers.

use super::partition::{Interval, partition};
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

/// The maximum number of intervals of numbers that are found in advance.
const MAX_INTERVALS: usize = 4096;

/// The cofactors of a function that tests no word before the number. Ascending numbers are the fastest.
pub struct ByNumber<'a> {
    store: &'a Store,
    func: Func,
    /// Empty if there are too many.
    intervals: Vec<Interval>,
    /// The interval of the last number that was asked for.
    at: usize,
}

impl<'a> ByNumber<'a> {
    /// The cofactors of this function.
    pub fn new(store: &'a Store, func: Func) -> ByNumber<'a> {
        let intervals = partition(store, func, Word::NR, MAX_INTERVALS).unwrap_or_default();
        ByNumber { store, func, intervals, at: 0 }
    }

    /// The cofactor for a number, as [`Store::follow`] finds it.
    pub fn cofactor(&mut self, nr: u32) -> Func {
        self.interval(nr).then
    }

    /// An interval of numbers around this one that have the same cofactor.
    pub fn interval(&mut self, nr: u32) -> Interval {
        if self.intervals.get(self.at).is_none_or(|interval| nr < interval.first) {
            self.at = 0;
        }
        let rest = self.intervals.get(self.at..).unwrap_or_default();
        let found = rest.iter().position(|interval| nr <= interval.last);
        match found.and_then(|steps| Some((steps, *rest.get(steps)?))) {
            Some((steps, interval)) => {
                self.at += steps;
                interval
            }
            None => {
                Interval { first: nr, last: nr, then: self.store.follow(self.func, Word::NR, nr) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;
    use callgate_core::diagram::Split;

    #[test]
    fn cofactors_are_those_of_each_number() {
        let mut store = Store::default();
        let verdicts = [1, 2, 3].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let mut func = verdicts[0];
        for nr in [3, 4, 9, 100, u32::MAX] {
            let other = verdicts[nr as usize % 3];
            func = store.split(Word::NR, Split::Equal(nr), other, func).unwrap();
        }
        let odd = store.any_bit(Word::NR, 1).unwrap();
        // More intervals than are found in advance.
        let many = store.select(odd, verdicts[1], func).unwrap();
        for func in [func, many, verdicts[2]] {
            let mut numbers = ByNumber::new(&store, func);
            for nr in (0..120).chain([u32::MAX, 4, 5, 3, 99, 100, 0]) {
                assert_eq!(numbers.cofactor(nr), store.follow(func, Word::NR, nr), "{nr}");
                let Interval { first, last, then } = numbers.interval(nr);
                assert!((first..=last).contains(&nr), "{nr}");
                let ends = [first, last].map(|nr| store.follow(func, Word::NR, nr));
                assert_eq!(ends, [then; 2], "{nr}");
            }
        }
    }
}
