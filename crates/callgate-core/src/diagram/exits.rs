//! The *exits* of a word: the successors of all its nodes, which are the functions of later words.

use rustc_hash::FxHashMap as HashMap;

use super::node_set::NodeSet;
use super::{DiagramError, Func, Pred, Store};
use crate::Word;

impl Store {
    /// The exits of a word, each once, in no particular order; `None` if there are more than
    /// `limit`.
    pub fn exits(&self, func: Func, word: Word, limit: usize) -> Option<Vec<Func>> {
        let mut seen = NodeSet::new(self.len());
        let mut exits = Vec::new();
        let mut stack = Vec::with_capacity(64);
        stack.push(func);
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

    /// The predicate that the value of a word leads to an exit.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn leads_to(&mut self, func: Func, word: Word, exit: Func) -> Result<Pred, DiagramError> {
        self.check_owner(func)?;
        self.check_owner(exit)?;
        self.leads_to_memo(
            func,
            word,
            exit,
            &mut HashMap::with_capacity_and_hasher(64, Default::default()),
        )
    }

    fn leads_to_memo(
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
        let low = self.leads_to_memo(low, word, exit, memo)?;
        let high = self.leads_to_memo(high, word, exit, memo)?;
        let set = self.make_ordered(var, low, high)?;
        memo.insert(func, set);
        Ok(set)
    }
}
