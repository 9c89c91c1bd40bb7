//! Syscalls that a function permits.

use super::{has_comparisons, partition, syscall_with};
use rustc_hash::FxHashSet;

use callgate_core::diagram::{Func, Store};
use callgate_core::{SeccompData, Verdict, Word};

/// The maximum number of intervals of one word that are distinguished.
const MAX_INTERVALS: usize = 4096;

/// A syscall that the function permits (ALLOW or LOG), near `start`; `None` if there is none, and if none was found that fulfills
/// comparisons of two arguments.
pub fn permitted(store: &Store, func: Func, start: SeccompData) -> Option<SeccompData> {
    if has_comparisons(store, func) {
        return syscall_with(store, [func], start, |[verdict]| verdict.permits());
    }
    let mut search = Search { store, data: start, dead: FxHashSet::default() };
    search.from(func).then_some(search.data)
}

struct Search<'s> {
    store: &'s Store,
    /// The syscall so far.
    data: SeccompData,
    /// Functions that permit nothing.
    dead: FxHashSet<Func>,
}

impl Search<'_> {
    /// Whether a function permits a syscall, which is kept. The value of a word that it has is tried first; only then are its bits
    /// changed, the last one first. Each recursion is at a later word.
    fn from(&mut self, func: Func) -> bool {
        let Some(word) = self.store.top_word(func) else {
            return self.store.as_verdict(func).is_some_and(Verdict::permits);
        };
        if self.dead.contains(&func) {
            return false;
        }
        let kept = self.store.follow(func, word, self.data.word(word));
        self.from(kept) || self.within(word, func)
    }

    /// As [`Search::from`], for a function whose word may be partly known. Each recursion is at least one variable deeper.
    fn within(&mut self, word: Word, func: Func) -> bool {
        if self.store.top_word(func) != Some(word) {
            return self.from(func);
        }
        if self.dead.contains(&func) {
            return false;
        }
        let bit = 1 << (31 - u32::from(self.store.var(func) % 32));
        let (low, high) = self.store.children(func);
        let value = self.data.word(word);
        let (near, far) = if value & bit == 0 { (low, high) } else { (high, low) };
        if self.within(word, near) {
            return true;
        }
        self.data.set_word(word, value ^ bit);
        if self.within(word, far) {
            return true;
        }
        self.data.set_word(word, value);
        self.dead.insert(func);
        false
    }
}

/// Syscalls that the function permits: one per permitted interval of the first word with more than one permitted
/// interval. All other words are near those of `start`.
///
/// Empty if nothing is permitted; a single syscall if that word has more than 4,096 intervals, permitted or not.
pub fn permitted_syscalls(store: &Store, func: Func, start: SeccompData) -> Vec<SeccompData> {
    let (mut func, mut data) = (func, start);
    while let Some(word) = store.top_word(func) {
        let Some(intervals) = partition(store, func, word, MAX_INTERVALS) else { break };
        let syscalls = intervals.into_iter().filter_map(|interval| {
            let mut syscall = data;
            let kept = (interval.first..=interval.last).contains(&data.word(word));
            syscall.set_word(word, if kept { data.word(word) } else { interval.first });
            Some((interval.then, permitted(store, interval.then, syscall)?))
        });
        match syscalls.collect::<Vec<_>>().as_slice() {
            // Continue with the next word.
            [(then, syscall)] => {
                func = *then;
                data.set_word(word, syscall.word(word));
            }
            syscalls => return syscalls.iter().map(|(_, syscall)| *syscall).collect(),
        }
    }
    permitted(store, func, data).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Word;
    use callgate_core::diagram::Split;

    #[test]
    fn each_permitted_interval_gives_a_syscall() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let [high, low] = [Word::arg_high(1).unwrap(), Word::arg_low(1).unwrap()];
        let mut func = deny;
        for value in [0, 1, 9, 0x80] {
            func = store.split(low, Split::Equal(value), allow, func).unwrap();
        }
        func = store.split(high, Split::AtLeast(1), deny, func).unwrap();
        let start = SeccompData::default();
        let values = |func| {
            let syscalls: Vec<SeccompData> = permitted_syscalls(&store, func, start);
            syscalls.iter().map(|syscall| syscall.args[1]).collect::<Vec<u64>>()
        };
        assert_eq!(values(func), [0, 9, 0x80]);
        assert_eq!(values(allow), [0]);
        assert_eq!(values(deny), []);

        let mut start = start;
        start.args = [0, 1, 7, 0, 0, 0];
        let syscalls = permitted_syscalls(&store, func, start);
        let args: Vec<_> =
            syscalls.iter().map(|syscall| (syscall.args[1], syscall.args[2])).collect();
        assert_eq!(args, [(1, 7), (9, 7), (0x80, 7)], "permitted words remain");
    }

    #[test]
    fn above_the_limit_there_is_a_single_syscall() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let word = Word::arg_low(0).unwrap();
        let bit = store.any_bit(word, 1).unwrap();
        let even = store.select(bit, deny, allow).unwrap();
        // 4,096 intervals, half of them permitted, and 4,098.
        for (end, count) in [(4095, 2048), (4096, 2048), (4097, 1)] {
            let func = store.split(word, Split::AtLeast(end), deny, even).unwrap();
            let syscalls = permitted_syscalls(&store, func, SeccompData::default());
            let values: Vec<u64> = syscalls.iter().map(|syscall| syscall.args[0]).collect();
            assert_eq!(values, (0..count).map(|i| 2 * i).collect::<Vec<u64>>(), "{end}");
        }
    }
}
