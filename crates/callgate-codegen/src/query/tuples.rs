//! Several functions of one word at once.
//!
//! The functions are the leaves of a balanced tree of pairs. Equal pairs have the same number, so parts that are equal for
//! many values are expanded once.

use rustc_hash::FxHashMap as HashMap;

use super::bits::memo;

use callgate_core::Word;
use callgate_core::diagram::{DiagramError, Func, Store, Var, var_of};

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
        Tuples { last: var_of(word, 0), pairs: Vec::new(), numbers: memo() }
    }

    /// The tuple of some functions, of which there is at least one. The recursion depth is logarithmic.
    pub(super) fn tuple(
        &mut self,
        store: &mut Store,
        funcs: &[Func],
    ) -> Result<Tuple, DiagramError> {
        if let [func] = funcs {
            return Ok(Tuple::Func(*func));
        }
        let (left, right) = funcs.split_at(funcs.len() / 2);
        let parts = [self.tuple(store, left)?, self.tuple(store, right)?];
        self.pair(store, parts)
    }

    fn pair(&mut self, store: &mut Store, parts: [Tuple; 2]) -> Result<Tuple, DiagramError> {
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
    ) -> Result<Option<(Var, [Tuple; 2])>, DiagramError> {
        let var = self.var(store, tuple);
        if var > self.last {
            return Ok(None);
        }
        Ok(Some((var, self.cofactors(store, tuple, var)?)))
    }

    /// The cofactors for a variable before which no function tests any. The recursion depth is logarithmic.
    fn cofactors(
        &mut self,
        store: &mut Store,
        tuple: Tuple,
        var: Var,
    ) -> Result<[Tuple; 2], DiagramError> {
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
