//! Stacks of filters: the kernel's choice between two verdicts by precedence, and the combinations of
//! verdicts that occur.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_run_filters`; `io_uring/bpf_filter.c`, `__io_uring_run_bpf_filters`.

use rustc_hash::FxHashSet;

use super::choice::STEPS_PER_ENTRY;
use super::compare::NO_VERDICT;
use super::{DiagramError, Func, Store, VARS};
use crate::io_uring::Decision;
use crate::{Layout, SeccompData, Verdict};

const NO_GROUP: DiagramError = DiagramError::defect("a stack has at least one group");

/// The verdicts of several functions for one syscall, and that syscall.
type VerdictCombination<const N: usize> = ([Verdict; N], SeccompData);

impl Store {
    /// One iteration of the kernel's loop over a stack: the verdict of `next` where its action has higher
    /// precedence than that of `kept`, else the verdict of `kept`, both with their data. The order matters:
    /// if the actions are equal, the data of `kept` remain.
    ///
    /// For io_uring filters, one that denies has precedence, and the order does not matter.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn highest_precedence(&mut self, kept: Func, next: Func) -> Result<Func, DiagramError> {
        match self.layout() {
            Layout::Seccomp => {
                self.choose(kept, next, |kept, next| kept.or_higher_precedence(next) == kept)
            }
            Layout::IoUring(_) => {
                self.choose(kept, next, |kept, _| Decision::of(kept.0) == Decision::Deny)
            }
            // A socket has one filter.
            Layout::Packet => Err(DiagramError::LAYOUT),
        }
    }

    /// The verdict that the kernel keeps of filters, which are in the order of their installation: its loop runs from the newest to
    /// the oldest, and keeps ALLOW before the first one. `function` makes the function of a filter.
    ///
    /// # Errors
    /// That of `function`; or if the diagram exceeds its budget.
    pub fn stacked<T: Copy, E: From<DiagramError>>(
        &mut self,
        filters: impl IntoIterator<Item = T, IntoIter: DoubleEndedIterator>,
        function: impl FnMut(&mut Store, T) -> Result<Func, E>,
    ) -> Result<Func, E> {
        self.stacked_checked(filters, function, |_, _| Ok(()))
    }

    /// As [`Store::stacked`]; `check` gets the functions of each choice between neighbours: that of the newer filters, that of the
    /// older ones, and the result.
    ///
    /// The loop keeps the first of the verdicts with the highest precedence. That does not depend on how neighbours are grouped,
    /// so groups of about as many filters are combined: with one filter after the other, each choice would visit the function of all
    /// filters before.
    pub(crate) fn stacked_checked<T: Copy, E: From<DiagramError>>(
        &mut self,
        filters: impl IntoIterator<Item = T, IntoIter: DoubleEndedIterator>,
        mut function: impl FnMut(&mut Store, T) -> Result<Func, E>,
        mut check: impl FnMut(&mut Store, [Func; 3]) -> Result<(), E>,
    ) -> Result<Func, E> {
        let mut chosen = |store: &mut Store, newer: Func, older: Func| {
            let result = store.highest_precedence(newer, older)?;
            check(store, [newer, older, result])?;
            Ok::<Func, E>(result)
        };
        // Groups of 1 << size functions, the newest first; sizes decrease.
        let mut groups: Vec<(u32, Func)> = vec![(0, self.verdict(Verdict::ALLOW)?)];
        for filter in filters.into_iter().rev() {
            let (mut size, mut group) = (0, function(self, filter)?);
            while let Some((_, newer)) = groups.last().copied().filter(|(of, _)| *of == size) {
                groups.pop();
                group = chosen(self, newer, group)?;
                size += 1;
            }
            groups.push((size, group));
        }
        let mut kept = None;
        while let Some((_, newer)) = groups.pop() {
            kept = Some(kept.map_or(Ok(newer), |older| chosen(self, newer, older))?);
        }
        Ok(kept.ok_or(NO_GROUP)?)
    }

    /// Checks one choice of the kernel's loop (kept function, next one, result) for every combination of verdicts, which is
    /// a proof. A syscall for each combination, or one for which the result is wrong.
    pub(crate) fn check_iteration(
        &mut self,
        funcs: [Func; 3],
    ) -> Result<Result<Vec<SeccompData>, SeccompData>, DiagramError> {
        let mut examples = Vec::new();
        for ([kept, next, result], data) in self.verdict_combinations(funcs)? {
            if result != kept.or_higher_precedence(next) {
                return Ok(Err(data));
            }
            examples.push(data);
        }
        Ok(Ok(examples))
    }

    /// Every combination of verdicts that these functions have for one syscall, each once, with a syscall
    /// as an example. The combinations cover all syscalls: a property of each combination holds for every
    /// syscall. Where functions test [comparisons](Store::comparison), some combinations may be impossible, and the example
    /// may have another one.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if these are not functions of syscalls.
    pub fn verdict_combinations<const N: usize>(
        &mut self,
        funcs: [Func; N],
    ) -> Result<Vec<VerdictCombination<N>>, DiagramError> {
        self.check_layout(Layout::Seccomp)?;
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![(funcs, SeccompData::default())];
        while let Some((funcs, data)) = stack.pop() {
            if !seen.insert(funcs) {
                continue;
            }
            self.charge_steps(STEPS_PER_ENTRY)?;
            let var = funcs.iter().map(|func| self.var(*func)).min().unwrap_or(VARS);
            if var == VARS {
                let mut verdicts = [Verdict::KILL_PROCESS; N];
                for (verdict, func) in verdicts.iter_mut().zip(funcs) {
                    *verdict = self.as_verdict(func).ok_or(NO_VERDICT)?;
                }
                found.push((verdicts, data));
                continue;
            }
            let mut with = data;
            if let Some(word) = self.word_of(var) {
                with.set_word(word, data.word(word) | 1 << (31 - u32::from(var % 32)));
            }
            stack.push((funcs.map(|func| self.cofactors(func, var).1), with));
            stack.push((funcs.map(|func| self.cofactors(func, var).0), data));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;
    use crate::diagram::{Budget, Split};

    #[test]
    fn wrong_iterations_are_found() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let one = store.verdict(Verdict::errno(1)).unwrap();
        let two = store.verdict(Verdict::errno(2)).unwrap();
        for good in [[allow, two, two], [two, one, two]] {
            assert_eq!(store.check_iteration(good).unwrap().unwrap().len(), 1);
        }
        let somewhere = store.split(Word::IP_LOW, Split::Equal(7), one, two).unwrap();
        for bad in [[two, one, one], [two, one, somewhere], [one, two, two]] {
            assert!(store.check_iteration(bad).unwrap().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_newest_filter_of_a_stack_comes_first() {
        let mut store = Store::default();
        let function = |store: &mut Store, verdict| store.verdict(verdict);
        let errnos = [Verdict::errno(1), Verdict::errno(2)];
        assert_eq!(store.stacked(errnos, function), store.verdict(Verdict::errno(2)));
        let kill = [Verdict::KILL_PROCESS, Verdict::errno(2)];
        assert_eq!(store.stacked(kill, function), store.verdict(Verdict::KILL_PROCESS));
        // The kernel starts with ALLOW and data 0.
        for allows in [&[][..], &[Verdict(0x7fff_0001)]] {
            let stacked = store.stacked(allows.iter().copied(), function);
            assert_eq!(stacked, store.verdict(Verdict::ALLOW));
        }
    }

    /// Stacks of up to 9 filters, each with another verdict for each of 40 numbers, beside the loop.
    #[test]
    fn groups_of_filters_have_the_verdict_of_the_loop() {
        let mut store = Store::default();
        let verdict = |filter: usize, nr: u32| VERDICTS[(filter * 5 + nr as usize * 3) % 14];
        for count in 0..=9 {
            let mut checked = 0;
            let function = |store: &mut Store, filter: usize| {
                let mut func = store.verdict(Verdict::ALLOW)?;
                for nr in 0..40 {
                    let here = store.verdict(verdict(filter, nr))?;
                    func = store.split(Word::NR, Split::Equal(nr), here, func)?;
                }
                Ok::<Func, DiagramError>(func)
            };
            let check = |store: &mut Store, funcs: [Func; 3]| {
                checked += 1;
                assert!(store.check_iteration(funcs)?.is_ok());
                Ok(())
            };
            let stacked = store.stacked_checked(0..count, function, check).unwrap();
            assert_eq!(checked, count);
            for nr in 0..41 {
                let data = SeccompData { nr, ..SeccompData::default() };
                let of = |filter| if nr < 40 { verdict(filter, nr) } else { Verdict::ALLOW };
                let expected = Verdict::of_stack((0..count).rev().map(of));
                assert_eq!(store.evaluate(stacked, &data), Ok(expected), "{count} {nr}");
            }
        }
    }

    const VERDICTS: [Verdict; 14] = [
        Verdict::KILL_PROCESS,
        Verdict(0x8000_0001),
        Verdict(0x8001_0000),
        Verdict(0xffff_ffff),
        Verdict::KILL_THREAD,
        Verdict(1),
        Verdict(0x0001_0000),
        Verdict::trap(3),
        Verdict::errno(1),
        Verdict::errno(38),
        Verdict::trace(7),
        Verdict::LOG,
        Verdict::ALLOW,
        Verdict(0x7fff_0001),
    ];

    /// All pairs of verdicts, each with its own syscall number.
    #[test]
    fn precedence_is_that_of_the_kernel_for_each_pair_of_verdicts() {
        let mut store = Store::default();
        let (mut kept, mut next) =
            (store.verdict(Verdict::ALLOW).unwrap(), store.verdict(Verdict::ALLOW).unwrap());
        let count = VERDICTS.len() as u32;
        for nr in 0..count * count {
            let (a, b) = (VERDICTS[(nr / count) as usize], VERDICTS[(nr % count) as usize]);
            let (a, b) = (store.verdict(a).unwrap(), store.verdict(b).unwrap());
            kept = store.split(Word::NR, Split::Equal(nr), a, kept).unwrap();
            next = store.split(Word::NR, Split::Equal(nr), b, next).unwrap();
        }
        let both = store.highest_precedence(kept, next).unwrap();
        let mut data_kept = 0;
        for nr in 0..=count * count {
            let data = SeccompData { nr, ..SeccompData::default() };
            let (a, b) =
                (store.evaluate(kept, &data).unwrap(), store.evaluate(next, &data).unwrap());
            // `ACTION_ONLY(cur_ret) < ACTION_ONLY(ret)`, on signed values.
            let action = |verdict: Verdict| (verdict.0 as i32) >> 16;
            let wanted = if action(b) < action(a) { b } else { a };
            assert_eq!(store.evaluate(both, &data).unwrap(), wanted, "{a} {b}");
            data_kept += u32::from(a != b && action(a) == action(b));
        }
        assert!(data_kept > 4);
        let other = store.highest_precedence(next, kept).unwrap();
        assert_ne!(both, other, "the order matters");
        let verdict_combinations = store.verdict_combinations([kept, next, both]).unwrap();
        assert_eq!(verdict_combinations.len() as u32, count * count);
        for ([a, b, c], data) in verdict_combinations {
            let of = |func| store.evaluate(func, &data).unwrap();
            assert_eq!((of(kept), of(next), of(both)), (a, b, c));
        }
    }

    /// The memo must not confuse the two orders of a pair of functions.
    #[test]
    fn both_orders_of_two_functions_in_one_operation() {
        let mut store = Store::default();
        let [a, b] = [1, 3].map(|errno| {
            let one = store.verdict(Verdict::errno(errno)).unwrap();
            let other = store.verdict(Verdict::errno(errno + 1)).unwrap();
            store.split(Word::IP_LOW, Split::Equal(1), one, other).unwrap()
        });
        let kept = store.split(Word::NR, Split::AtLeast(5), a, b).unwrap();
        let next = store.split(Word::NR, Split::AtLeast(5), b, a).unwrap();
        assert_eq!(store.highest_precedence(kept, next), Ok(kept));
        assert_eq!(store.highest_precedence(next, kept), Ok(next));
    }

    #[test]
    fn an_exhausted_budget_is_an_error() {
        let mut store = Store::new(Budget { nodes: 10_000, steps: 3_000 });
        let verdict = |store: &mut Store, errno| store.verdict(Verdict::errno(errno)).unwrap();
        let (mut a, mut b) = (verdict(&mut store, 1), verdict(&mut store, 2));
        for value in 0..40 {
            let (one, two) = (verdict(&mut store, 3), verdict(&mut store, 4));
            a = store.split(Word::NR, Split::Equal(value * 977), one, a).unwrap();
            let low = Word::arg_low(0).unwrap();
            b = store.split(low, Split::Equal(value * 977), two, b).unwrap_or(b);
        }
        assert!(store.highest_precedence(a, b).is_err());
        assert!(store.verdict_combinations([a, b]).is_err());
    }
}
