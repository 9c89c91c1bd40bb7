//! Outlines: functions with another word first.
//!
//! The order of words in a diagram is fixed, but a program may test any word first. An *outline* is a function of one
//! word alone, whose terminals are placeholders for the cofactors.

use crate::Result;
use callgate_core::Word;
use callgate_core::diagram::{Func, NodeSet, Store, Var, var_of};
use rustc_hash::FxHashMap as HashMap;

/// The outline of a function for a word.
///
/// # Errors
/// If the diagram exceeds its budget.
pub(crate) fn word_first(store: &mut Store, func: Func, word: Word) -> Result<Func> {
    let cases = cases(store, func, word);
    if cases.is_empty() {
        return store.placeholder(func);
    }
    let mut tuples = Tuples::new(word);
    let tuple = tuples.tuple(store, &cases)?;
    WordFirst { func, word, cases, tuples, done: HashMap::default() }.outline(store, tuple)
}

/// The functions that test a word, below one that may test earlier words.
fn cases(store: &Store, func: Func, word: Word) -> Vec<Func> {
    let (mut cases, mut seen, mut stack) = (Vec::new(), NodeSet::new(store.len()), vec![func]);
    while let Some(func) = stack.pop() {
        match store.top_word(func) {
            Some(top) if top <= word && seen.insert(func) => {
                if top == word {
                    cases.push(func);
                } else {
                    stack.extend(<[Func; 2]>::from(store.children(func)));
                }
            }
            _ => {}
        }
    }
    cases
}

struct WordFirst {
    func: Func,
    word: Word,
    /// The functions that test the word.
    cases: Vec<Func>,
    tuples: Tuples,
    /// The outlines of tuples of their cofactors.
    done: HashMap<Tuple, Func>,
}

impl WordFirst {
    /// Each recursion is at least one bit deeper.
    fn outline(&mut self, store: &mut Store, tuple: Tuple) -> Result<Func> {
        if let Some(done) = self.done.get(&tuple) {
            return Ok(*done);
        }
        let outline = match self.tuples.branch(store, tuple)? {
            Some((var, [low, high])) => {
                let (low, high) = (self.outline(store, low)?, self.outline(store, high)?);
                store.make(var, low, high)?
            }
            None => {
                // The values that lead to these exits of the cases.
                let exits = self.tuples.funcs(tuple);
                let mut cofactors = self.cases.iter().copied().zip(exits).collect();
                let cofactor = self.cofactor(store, self.func, &mut cofactors)?;
                store.placeholder(cofactor)?
            }
        };
        self.done.insert(tuple, outline);
        Ok(outline)
    }

    /// The cofactor of a function for values of the word, given those of the cases. Each recursion is at least one
    /// variable deeper.
    fn cofactor(
        &self,
        store: &mut Store,
        func: Func,
        cofactors: &mut HashMap<Func, Func>,
    ) -> Result<Func> {
        if let Some(done) = cofactors.get(&func) {
            return Ok(*done);
        }
        let (var, low, high) = store.branch(func);
        if var > var_of(self.word, 0) {
            return Ok(func);
        }
        let low = self.cofactor(store, low, cofactors)?;
        let high = self.cofactor(store, high, cofactors)?;
        let cofactor = store.make(var, low, high)?;
        cofactors.insert(func, cofactor);
        Ok(cofactor)
    }
}

/// A function, or the number of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Tuple {
    Func(Func),
    Pair(usize),
}

struct Pair {
    parts: [Tuple; 2],
    /// The first variable that a part tests.
    var: Var,
    /// The cofactors for this variable, when they are known.
    cofactors: Option<[Tuple; 2]>,
}

/// The pairs of tuples of functions of one word, which test no earlier word.
pub(super) struct Tuples {
    last: Var,
    pairs: Vec<Pair>,
    numbers: HashMap<[Tuple; 2], usize>,
}

impl Tuples {
    pub(super) fn new(word: Word) -> Tuples {
        Tuples { last: var_of(word, 0), pairs: Vec::new(), numbers: HashMap::default() }
    }

    /// The tuple of some functions, of which there is at least one. The recursion depth is logarithmic.
    pub(super) fn tuple(&mut self, store: &mut Store, funcs: &[Func]) -> Result<Tuple> {
        if let [func] = funcs {
            return Ok(Tuple::Func(*func));
        }
        let (left, right) = funcs.split_at(funcs.len() / 2);
        let parts = [self.tuple(store, left)?, self.tuple(store, right)?];
        self.pair(store, parts)
    }

    fn pair(&mut self, store: &mut Store, parts: [Tuple; 2]) -> Result<Tuple> {
        if let Some(number) = self.numbers.get(&parts) {
            return Ok(Tuple::Pair(*number));
        }
        store.charge()?;
        let var = parts.map(|part| self.var(store, part)).into_iter().min().unwrap_or(self.last);
        let number = self.pairs.len();
        self.pairs.push(Pair { parts, var, cofactors: None });
        self.numbers.insert(parts, number);
        Ok(Tuple::Pair(number))
    }

    fn var(&self, store: &Store, tuple: Tuple) -> Var {
        match tuple {
            Tuple::Func(func) => store.var(func),
            Tuple::Pair(number) => self.pairs[number].var,
        }
    }

    /// The first variable of the word that a function of the tuple tests, and the cofactors; `None` if none of them tests
    /// the word.
    pub(super) fn branch(
        &mut self,
        store: &mut Store,
        tuple: Tuple,
    ) -> Result<Option<(Var, [Tuple; 2])>> {
        let var = self.var(store, tuple);
        if var > self.last {
            return Ok(None);
        }
        Ok(Some((var, self.cofactors(store, tuple, var)?)))
    }

    /// The cofactors for a variable before which no function tests any. The recursion depth is logarithmic.
    fn cofactors(&mut self, store: &mut Store, tuple: Tuple, var: Var) -> Result<[Tuple; 2]> {
        let number = match tuple {
            Tuple::Func(func) => {
                let (low, high) = store.cofactors(func, var);
                return Ok([Tuple::Func(low), Tuple::Func(high)]);
            }
            Tuple::Pair(number) if self.pairs[number].var != var => return Ok([tuple; 2]),
            Tuple::Pair(number) => number,
        };
        let Pair { parts: [a, b], cofactors, .. } = self.pairs[number];
        if let Some(cofactors) = cofactors {
            return Ok(cofactors);
        }
        let ([a0, a1], [b0, b1]) = (self.cofactors(store, a, var)?, self.cofactors(store, b, var)?);
        let cofactors = [self.pair(store, [a0, b0])?, self.pair(store, [a1, b1])?];
        self.pairs[number].cofactors = Some(cofactors);
        Ok(cofactors)
    }

    /// The functions of a tuple, in order.
    pub(super) fn funcs(&self, tuple: Tuple) -> Vec<Func> {
        let (mut funcs, mut stack) = (Vec::new(), vec![tuple]);
        while let Some(tuple) = stack.pop() {
            match tuple {
                Tuple::Func(func) => funcs.push(func),
                Tuple::Pair(number) => stack.extend(self.pairs[number].parts.into_iter().rev()),
            }
        }
        funcs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::diagram::Split;
    use callgate_core::{SeccompData, Verdict};

    /// The support of a function, in order.
    fn words_of(store: &Store, func: Func) -> Vec<Word> {
        let mut words = std::collections::BTreeSet::new();
        let mut stack = vec![func];
        while let Some(node) = stack.pop() {
            if let Some(word) = store.top_word(node) {
                words.insert(word);
                stack.extend(<[Func; 2]>::from(store.children(node)));
            }
        }
        words.into_iter().collect()
    }

    #[test]
    fn cofactors_in_an_outline_have_the_verdicts_of_the_function() {
        let mut store = Store::default();
        let words = [0, 1, 2].map(|arg| Word::arg_low(arg).unwrap());
        let mut func = store.verdict(Verdict::ALLOW).unwrap();
        for step in 0..40u32 {
            let verdict = store.verdict(Verdict::errno(step as u16 % 5)).unwrap();
            let of = |k: usize| words[(step as usize * 7 + k) % 3];
            let inner = store.split(of(0), Split::Equal(step % 4), verdict, func).unwrap();
            func = store.split(of(1), Split::AtLeast(step % 3 + 1), inner, func).unwrap();
        }
        assert_eq!(words_of(&store, func), words);
        for word in words {
            let outline = word_first(&mut store, func, word).unwrap();
            assert_eq!(words_of(&store, outline), [word]);
            for number in 0..216u64 {
                let args = [number % 6, number / 6 % 6, number / 36, 0, 0, 0];
                let data = SeccompData { args, ..SeccompData::default() };
                let rest = store.follow(outline, word, data.word(word));
                let rest = store.resolve_placeholder(rest);
                assert!(!words_of(&store, rest).contains(&word));
                assert_eq!(
                    store.evaluate(rest, &data).unwrap(),
                    store.evaluate(func, &data).unwrap()
                );
            }
        }
    }
}
