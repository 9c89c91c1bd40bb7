//! Choices between the verdicts of two functions, and replaced verdicts, for all syscalls.

use rustc_hash::FxHashMap as HashMap;

use super::compare::NO_VERDICT;
use super::{DiagramError, Func, Store};
use crate::Verdict;

/// The cost of an entry of a table beside the nodes, in steps. It keeps these tables smaller than the nodes of a store
/// that uses its whole budget.
pub(super) const STEPS_PER_ENTRY: u64 = 4;

impl Store {
    /// The function that has, for each syscall, the verdict of one of two functions: that of the first where `is_first`
    /// holds for their verdicts, which is not asked for equal ones.
    ///
    /// ```
    /// use callgate_core::{SeccompData, Verdict, Word};
    /// use callgate_core::diagram::{Split, Store};
    ///
    /// let mut store = Store::default();
    /// let [allow, log, kill] =
    ///     [Verdict::ALLOW, Verdict::LOG, Verdict::KILL_PROCESS].map(|verdict| store.verdict(verdict).unwrap());
    /// let only_read = store.split(Word::NR, Split::Equal(0), allow, kill)?;
    /// let least = store.choose(only_read, log, |a, b| a.precedence() <= b.precedence())?;
    /// assert_eq!(store.evaluate(least, &SeccompData::default())?, Verdict::ALLOW);
    /// assert_eq!(store.evaluate(least, &SeccompData { nr: 1, ..SeccompData::default() })?, Verdict::LOG);
    /// # Ok::<(), callgate_core::diagram::DiagramError>(())
    /// ```
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn choose(
        &mut self,
        first: Func,
        second: Func,
        is_first: fn(Verdict, Verdict) -> bool,
    ) -> Result<Func, DiagramError> {
        self.check_owner(first)?;
        self.check_owner(second)?;
        self.choose_memo(first, second, is_first, &mut HashMap::default())
    }

    /// Each recursion is at least one variable deeper.
    fn choose_memo(
        &mut self,
        first: Func,
        second: Func,
        is_first: fn(Verdict, Verdict) -> bool,
        memo: &mut HashMap<(Func, Func), Func>,
    ) -> Result<Func, DiagramError> {
        if first == second {
            return Ok(first);
        }
        if let (Some(one), Some(other)) = (self.as_verdict(first), self.as_verdict(second)) {
            return Ok(if is_first(one, other) { first } else { second });
        }
        if let Some(done) = memo.get(&(first, second)) {
            return Ok(*done);
        }
        self.charge_steps(STEPS_PER_ENTRY)?;
        let (var, (first0, first1), (second0, second1)) = self.expand(first, second);
        if var == super::VARS {
            return Err(NO_VERDICT);
        }
        let low = self.choose_memo(first0, second0, is_first, memo)?;
        let high = self.choose_memo(first1, second1, is_first, memo)?;
        let func = self.make_ordered(var, low, high)?;
        memo.insert((first, second), func);
        Ok(func)
    }

    /// The function with each verdict replaced by another one.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn replace_verdicts(
        &mut self,
        func: Func,
        replacement: &dyn Fn(Verdict) -> Verdict,
    ) -> Result<Func, DiagramError> {
        self.check_owner(func)?;
        self.replace_memo(func, replacement, &mut HashMap::default())
    }

    /// Each recursion is at least one variable deeper.
    fn replace_memo(
        &mut self,
        func: Func,
        replacement: &dyn Fn(Verdict) -> Verdict,
        memo: &mut HashMap<Func, Func>,
    ) -> Result<Func, DiagramError> {
        if let Some(verdict) = self.as_verdict(func) {
            return self.verdict(replacement(verdict));
        }
        if let Some(done) = memo.get(&func) {
            return Ok(*done);
        }
        self.charge_steps(STEPS_PER_ENTRY)?;
        let var = self.var(func);
        if var == super::VARS {
            return Err(NO_VERDICT);
        }
        let (low, high) = self.cofactors(func, var);
        let low = self.replace_memo(low, replacement, memo)?;
        let high = self.replace_memo(high, replacement, memo)?;
        let replaced = self.make_ordered(var, low, high)?;
        memo.insert(func, replaced);
        Ok(replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Budget, Split};
    use crate::{SeccompData, Word};

    /// A function with a verdict for each of some numbers.
    fn by_number(store: &mut Store, verdicts: &[Verdict]) -> Func {
        let mut func = store.verdict(Verdict::ALLOW).unwrap();
        for (nr, verdict) in (0..).zip(verdicts) {
            let verdict = store.verdict(*verdict).unwrap();
            func = store.split(Word::NR, Split::Equal(nr), verdict, func).unwrap();
        }
        func
    }

    const VERDICTS: [Verdict; 5] =
        [Verdict::LOG, Verdict::errno(1), Verdict::errno(2), Verdict::trap(0), Verdict::ALLOW];

    #[test]
    fn one_of_two_verdicts_is_chosen_for_each_pair() {
        let mut store = Store::default();
        let pairs = || VERDICTS.into_iter().flat_map(|a| VERDICTS.map(|b| (a, b)));
        let firsts: Vec<Verdict> = pairs().map(|(a, _)| a).collect();
        let seconds: Vec<Verdict> = pairs().map(|(_, b)| b).collect();
        let (a, b) = (by_number(&mut store, &firsts), by_number(&mut store, &seconds));
        let chosen = store.choose(a, b, |a, b| a.0 < b.0).unwrap();
        for (nr, (a, b)) in (0..).zip(pairs()) {
            let data = SeccompData { nr, ..SeccompData::default() };
            assert_eq!(store.evaluate(chosen, &data).unwrap().0, a.0.min(b.0), "{a} {b}");
        }
    }

    #[test]
    fn replaced_verdicts_may_become_equal() {
        let mut store = Store::default();
        let func = by_number(&mut store, &VERDICTS);
        let next = |verdict: Verdict| Verdict(verdict.0.wrapping_add(1));
        let replaced = store.replace_verdicts(func, &next).unwrap();
        for (nr, verdict) in (0..).zip(VERDICTS) {
            let data = SeccompData { nr, ..SeccompData::default() };
            assert_eq!(store.evaluate(replaced, &data).unwrap(), next(verdict));
        }
        let kill = store.verdict(Verdict::KILL_THREAD).unwrap();
        assert_eq!(store.replace_verdicts(func, &|_| Verdict::KILL_THREAD).unwrap(), kill);
    }

    #[test]
    fn an_exhausted_budget_is_an_error() {
        let mut store = Store::new(Budget { nodes: 10_000, steps: 4_000 });
        let verdicts: Vec<Verdict> = (0..20).map(Verdict::errno).collect();
        let func = by_number(&mut store, &verdicts);
        let other = Verdict::errno(99);
        let mut fails = false;
        for _ in 0..20 {
            fails |= store.replace_verdicts(func, &|_| other).is_err();
        }
        assert!(fails);
    }
}
