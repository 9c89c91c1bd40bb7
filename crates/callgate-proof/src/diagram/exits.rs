//! What a function becomes once a word is known: its *exits*.

use rustc_hash::FxHashMap as HashMap;

use super::seen::Seen;
use super::{DiagramError, Func, Pred, Store};
use callgate_bpf::data::Word;

impl Store {
    /// The exits of a word, each once, in no particular order; `None` when there are more than
    /// `limit`.
    pub fn exits(&self, func: Func, word: Word, limit: usize) -> Option<Vec<Func>> {
        let mut seen = Seen::new(self.len());
        let mut exits = Vec::new();
        let mut stack = vec![func];
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            if self.top_word(node) == Some(word) {
                let (low, high) = self.children(node);
                stack.extend([high, low]);
            } else if exits.len() == limit {
                return None;
            } else {
                exits.push(node);
            }
        }
        Some(exits)
    }

    /// The predicate that a word's value leads to an exit.
    pub fn leads_to(&mut self, func: Func, word: Word, exit: Func) -> Result<Pred, DiagramError> {
        self.own(func)?;
        self.own(exit)?;
        self.values_set(func, word, exit, &mut HashMap::default())
    }

    fn values_set(
        &mut self,
        func: Func,
        word: Word,
        exit: Func,
        memo: &mut HashMap<Func, Pred>,
    ) -> Result<Pred, DiagramError> {
        if self.top_word(func) != Some(word) {
            return Ok(Pred::constant(func == exit));
        }
        if let Some(done) = memo.get(&func) {
            return Ok(*done);
        }
        let var = self.var(func);
        let (low, high) = self.children(func);
        let low = self.values_set(low, word, exit, memo)?;
        let high = self.values_set(high, word, exit, memo)?;
        let set = self.made_of(var, low, high)?;
        memo.insert(func, set);
        Ok(set)
    }
}
