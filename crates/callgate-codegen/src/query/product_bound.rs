//! A lower bound of the words that a sum of products tests, from a few syscalls.
//!
//! A product that contains two syscalls contains all mixtures of their words. So two syscalls with the verdict are in
//! different products if a mixture has another verdict; and a product tests each word whose value alone can change the
//! verdict of one of its syscalls. Likewise the syscalls that differ in one bit from a syscall with another verdict are in
//! different products.
//!
//! Most functions have no short sum of products. A few syscalls then prove that, without the predicates of the search.

use rustc_hash::FxHashMap as HashMap;

use callgate_core::Word;
use callgate_core::diagram::{Func, NodeSet, Store};

/// The maximum number of values that are tried for each function of a word.
const MAX_CASES: usize = 8;

/// The maximum number of syscalls of each verdict.
const MAX_SYSCALLS: usize = 24;

/// The maximum number of steps of the enumeration.
const MAX_STEPS: usize = 400;

/// The maximum number of syscalls whose bits are changed.
const MAX_CHANGED: usize = 2;

/// Syscalls of a function with two verdicts.
pub(crate) struct ProductBound {
    syscalls: Vec<Syscall>,
    /// The cases of functions of a word.
    cases: Vec<Vec<Case>>,
}

/// The values of the words of a syscall.
type Values = [u32; Word::COUNT];

/// An exit of a function of a word, with a value that leads to it.
type Case = (Func, u32);

struct Syscall {
    values: Values,
    verdict: Func,
    path: Vec<Step>,
}

/// A step of a path through functions of words.
#[derive(Clone, Copy)]
struct Step {
    func: Func,
    word: Word,
    /// The number of the cases of the function.
    cases: usize,
    value: u32,
    /// The number of the step before.
    before: Option<usize>,
}

impl ProductBound {
    /// Some syscalls of a function without variables.
    pub(crate) fn new(store: &Store, func: Func) -> ProductBound {
        let mut bound = ProductBound { syscalls: Vec::new(), cases: Vec::new() };
        let mut numbers: HashMap<Func, usize> = HashMap::default();
        let mut steps: Vec<Step> = Vec::new();
        let mut stack = vec![(func, None)];
        for _ in 0..MAX_STEPS {
            let Some((func, before)) = stack.pop() else { break };
            let Some(word) = store.top_word(func) else {
                bound.add(func, before, &steps);
                continue;
            };
            let number = *numbers.entry(func).or_insert_with(|| {
                bound.cases.push(cases(store, func, word));
                bound.cases.len() - 1
            });
            for (exit, value) in bound.cases[number].iter().rev() {
                stack.push((*exit, Some(steps.len())));
                steps.push(Step { func, word, cases: number, value: *value, before });
            }
        }
        bound
    }

    /// Adds the syscall with a verdict at the end of some steps, if there are not too many.
    fn add(&mut self, verdict: Func, mut last: Option<usize>, steps: &[Step]) {
        let of_verdict = self.syscalls.iter().filter(|syscall| syscall.verdict == verdict);
        if of_verdict.count() == MAX_SYSCALLS {
            return;
        }
        let mut syscall = Syscall { values: [0; Word::COUNT], verdict, path: Vec::new() };
        while let Some(step) = last {
            let step = steps[step];
            syscall.values[step.word.index()] = step.value;
            syscall.path.push(step);
            last = step.before;
        }
        self.syscalls.push(syscall);
    }

    /// Whether each sum of products of the syscalls with a verdict tests more than `limit` words, as
    /// [`products`](super::products) counts them.
    pub(crate) fn exceeds(&self, store: &Store, verdict: Func, limit: usize) -> bool {
        let (with, without): (Vec<&Syscall>, Vec<&Syscall>) =
            self.syscalls.iter().partition(|syscall| syscall.verdict == verdict);
        let changed = without.iter().take(MAX_CHANGED);
        if changed.into_iter().any(|syscall| syscall.changes(store, verdict, limit)) {
            return true;
        }
        let mut separate: Vec<&Syscall> = Vec::new();
        let mut words = 0;
        for syscall in with {
            if separate.iter().all(|other| are_separate(store, syscall, other)) {
                separate.push(syscall);
                words += self.tested_words(store, syscall).max(1);
                if words > limit {
                    return true;
                }
            }
        }
        false
    }

    /// The number of words whose value alone can change the verdict of a syscall, at least.
    fn tested_words(&self, store: &Store, syscall: &Syscall) -> usize {
        let differs = |(exit, _): &Case| evaluate(store, *exit, &syscall.values) != syscall.verdict;
        syscall.path.iter().filter(|step| self.cases[step.cases].iter().any(differs)).count()
    }
}

impl Syscall {
    /// Whether more than `limit` bits change the verdict to another one.
    fn changes(&self, store: &Store, verdict: Func, limit: usize) -> bool {
        let mut changes = 0;
        for Step { func, word, .. } in &self.path {
            for bit in 0..u32::BITS {
                let value = self.values[word.index()] ^ 1 << bit;
                let exit = store.follow(*func, *word, value);
                changes += usize::from(evaluate(store, exit, &self.values) == verdict);
                if changes > limit {
                    return true;
                }
            }
        }
        false
    }
}

/// Whether the value of one word of one of two syscalls changes the verdict of the other.
fn are_separate(store: &Store, a: &Syscall, b: &Syscall) -> bool {
    let mixed = |from: &Syscall, with: &Syscall| {
        from.path.iter().any(|Step { word, func, .. }| {
            let value = with.values[word.index()];
            value != from.values[word.index()] && {
                let exit = store.follow(*func, *word, value);
                evaluate(store, exit, &from.values) != from.verdict
            }
        })
    };
    mixed(a, b) || mixed(b, a)
}

/// The verdict of a function for these values.
fn evaluate(store: &Store, mut func: Func, values: &Values) -> Func {
    while let Some(word) = store.top_word(func) {
        func = store.follow(func, word, values[word.index()]);
    }
    func
}

/// The first exits of a function of a word, each with a value that leads to it.
fn cases(store: &Store, func: Func, word: Word) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut seen = NodeSet::new(store.len());
    let mut stack = vec![(func, 0)];
    while let Some((func, value)) = stack.pop() {
        if store.top_word(func) != Some(word) {
            if cases.iter().all(|(exit, _)| *exit != func) {
                cases.push((func, value));
                if cases.len() == MAX_CASES {
                    break;
                }
            }
        } else if seen.insert(func) {
            let bit = 1 << (31 - u32::from(store.var(func) % 32));
            let (low, high) = store.children(func);
            stack.extend([(high, value | bit), (low, value)]);
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::products;
    use callgate_core::Verdict;
    use callgate_core::diagram::Split;

    /// Random functions of three words: no sum is shorter than the bound, and some bounds are exceeded.
    #[test]
    fn no_sum_is_shorter_than_the_bound() {
        let mut random = 1u64;
        let mut below = move |bound: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((random >> 33) % u64::from(bound)) as u32
        };
        let words = [0, 1, 2].map(|arg| Word::arg_low(arg).unwrap());
        let (mut exceeded, mut kept) = (0, 0);
        for _ in 0..200 {
            let mut store = Store::default();
            let both = [Verdict::ALLOW, Verdict::errno(1)];
            let verdicts = both.map(|verdict| store.verdict(verdict).unwrap());
            let mut func = verdicts[1];
            for _ in 0..1 + below(4) {
                let mut inner = verdicts[below(2) as usize];
                for word in words.into_iter().rev().filter(|_| below(2) == 0).collect::<Vec<_>>() {
                    let split = match below(3) {
                        0 => Split::AtLeast(1 << (28 + below(4))),
                        _ => Split::Equal(below(4)),
                    };
                    inner = store.split(word, split, inner, func).unwrap();
                }
                func = inner;
            }
            let bound = ProductBound::new(&store, func);
            for (of, verdict) in both.into_iter().zip(verdicts) {
                for limit in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
                    let exceeds = bound.exceeds(&store, verdict, limit);
                    let sum = products(&mut store, func, of, limit).unwrap();
                    assert!(!exceeds || sum.is_none(), "{limit}");
                    exceeded += usize::from(exceeds);
                    kept += usize::from(sum.is_some());
                }
            }
        }
        assert!(exceeded > 100 && kept > 100, "{exceeded} {kept}");
    }
}
