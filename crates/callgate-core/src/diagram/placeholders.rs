//! Placeholders: terminals that stand for functions while the comparisons of one word are combined.

use rustc_hash::FxHashMap as HashMap;

use super::{DiagramError, Func, Pred, Store, Var};
use crate::Word;

/// Up to this number of exits, placeholders are replaced with one if-then-else per exit.
const MAX_SELECTED_EXITS: usize = 8;

const MISSING_EXIT: DiagramError = DiagramError::defect("every path of an outline ends in an exit");

impl Store {
    /// The functions, with placeholders for those that test a variable before `first`.
    pub(super) fn with_placeholders(
        &mut self,
        first: Var,
        mut funcs: [Func; 2],
    ) -> Result<[Func; 2], DiagramError> {
        for func in &mut funcs {
            if self.var(*func) < first {
                *func = self.placeholder(*func)?;
            }
        }
        Ok(funcs)
    }

    /// The function of an outline: each placeholder is replaced by the function that it stands for.
    pub(super) fn fill_in(&mut self, outline: Func, word: Word) -> Result<Func, DiagramError> {
        let Some(exits) = self.exits(outline, word, MAX_SELECTED_EXITS) else {
            return self.fill_in_bit_by_bit(outline, word);
        };
        let mut filled: Option<Func> = None;
        for exit in exits {
            let func = self.resolve_placeholder(exit);
            filled = Some(match filled {
                None => func,
                Some(others) => {
                    let here = self.leads_to(outline, word, exit)?;
                    self.select(here, func, others)?
                }
            });
        }
        filled.ok_or(MISSING_EXIT)
    }

    /// As [`Store::fill_in`], for many exits: from the last bit of the word to the first.
    fn fill_in_bit_by_bit(&mut self, outline: Func, word: Word) -> Result<Func, DiagramError> {
        let mut filled = HashMap::default();
        let mut stack = vec![(outline, false)];
        while let Some((node, children_done)) = stack.pop() {
            if filled.contains_key(&node) {
                continue;
            }
            if self.top_word(node) != Some(word) {
                let func = self.resolve_placeholder(node);
                filled.insert(node, func);
                continue;
            }
            let (low, high) = self.children(node);
            if !children_done {
                stack.extend([(node, true), (low, false), (high, false)]);
                continue;
            }
            let side = |side: Func| filled.get(&side).copied().ok_or(MISSING_EXIT);
            let (low, high) = (side(low)?, side(high)?);
            let bit = self.make(self.var(node), Pred::NEVER, Pred::ALWAYS)?;
            let func = self.select(bit, high, low)?;
            filled.insert(node, func);
        }
        filled.get(&outline).copied().ok_or(MISSING_EXIT)
    }
}
