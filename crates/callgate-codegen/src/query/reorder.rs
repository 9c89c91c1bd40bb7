//! Outlines: functions with another word first.
//!
//! The order of words in a diagram is fixed, but a program may test any word first. An *outline* is a function of one
//! word alone, whose terminals are placeholders for the cofactors.

use rustc_hash::FxHashMap as HashMap;

use callgate_bpf::data::Word;
use callgate_proof::diagram::var_of;
use callgate_proof::diagram::{DiagramError, Func, Node, Store, Var};

/// The outline of a function for a word.
///
/// # Errors
/// If the diagram exceeds its budget.
pub(crate) fn word_first(store: &mut Store, func: Func, word: Word) -> Result<Func, DiagramError> {
    let mut first = WordFirst { word, done: HashMap::default() };
    first.bring(store, func)
}

struct WordFirst {
    word: Word,
    done: HashMap<Func, Func>,
}

impl WordFirst {
    /// Each recursion is at least one variable deeper.
    fn bring(&mut self, store: &mut Store, func: Func) -> Result<Func, DiagramError> {
        let var = store.var(func);
        if var > var_of(self.word, 0) {
            return store.placeholder(func);
        }
        if let Some(done) = self.done.get(&func) {
            return Ok(*done);
        }
        let (low, high) = store.children(func);
        let low = self.bring(store, low)?;
        let high = self.bring(store, high)?;
        let result = if var >= var_of(self.word, 31) {
            store.make(var, low, high)?
        } else {
            self.join(store, var, low, high)?
        };
        self.done.insert(func, result);
        Ok(result)
    }

    /// If-then-else on an earlier variable, value by value of the word. Both operands are outlines and determine the
    /// word, so the cached result is independent of `self`.
    fn join(
        &mut self,
        store: &mut Store,
        var: Var,
        low: Func,
        high: Func,
    ) -> Result<Func, DiagramError> {
        if low == high {
            return Ok(low);
        }
        let (bit, (l0, l1), (h0, h1)) = store.expand(low, high);
        if bit > var_of(self.word, 0) {
            let rest =
                store.make(var, store.resolve_placeholder(low), store.resolve_placeholder(high))?;
            return store.placeholder(rest);
        }
        store.charge()?;
        let operation = [u32::from(var), low.id(), high.id()];
        if let Some(done) = store.cached_other(operation) {
            return Ok(done);
        }
        let clear = self.join(store, var, l0, h0)?;
        let set = self.join(store, var, l1, h1)?;
        let result = store.make(bit, clear, set)?;
        store.cache_other(operation, result);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::SeccompData;
    use callgate_bpf::verdict::Verdict;
    use callgate_proof::diagram::Split;

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

    /// Cached results must not be confused.
    #[test]
    fn the_same_outlines_are_joined_for_each_bit_and_in_either_order() {
        let mut store = Store::default();
        let [early, late] = [0, 1].map(|arg| Word::arg_low(arg).unwrap());
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let one = store.split(late, Split::Equal(5), allow, deny).unwrap();
        let other = store.split(late, Split::AtLeast(3), allow, deny).unwrap();
        for (bit, low, high) in
            (0..4).flat_map(|bit| [(bit, one, other), (bit, other, one), (bit, one, deny)])
        {
            let set = store.any_bit(early, 1 << bit).unwrap();
            let func = store.select(set, high, low).unwrap();
            let outline = word_first(&mut store, func, late).unwrap();
            for (a, b) in (0..16).flat_map(|a| (0..8).map(move |b| (a, b))) {
                let rest = store.follow(outline, late, b);
                let data = SeccompData { args: [a, 0, 0, 0, 0, 0], ..SeccompData::default() };
                let expected = if a >> bit & 1 == 1 { high } else { low };
                let expected = store.as_verdict(store.follow(expected, late, b));
                let verdict = store.evaluate(store.resolve_placeholder(rest), &data).unwrap();
                assert_eq!(Some(verdict), expected, "bit {bit}: {a}, {b}");
            }
        }
    }
}
