//! Comparisons of arguments with variables.

use super::code::{Code, CodeId, Held};
use super::lower::{Guards, Lowering};
use callgate_core::diagram::{Comparison, DiagramError, Func};
use callgate_core::{Op, Relation};

impl Lowering<'_> {
    /// The code of a function where A holds `held`. If the function first compares that with a variable, the word is not
    /// loaded again.
    pub(super) fn code_holding(
        &mut self,
        func: Func,
        guards: Guards,
        held: Held,
    ) -> Result<CodeId, DiagramError> {
        match self.store.top_comparison(func) {
            Some(comparison) if operand(&comparison) == held => {
                self.compare(func, guards, &comparison)
            }
            _ => self.guarded(func, guards),
        }
    }

    /// The code of a function that first compares with a variable: it loads the word.
    pub(super) fn load_and_compare(
        &mut self,
        func: Func,
        guards: Guards,
        comparison: &Comparison,
    ) -> Result<CodeId, DiagramError> {
        let held = operand(comparison);
        let mut next = self.compare(func, guards, comparison)?;
        if held.mask != u32::MAX {
            let whole = Held { mask: u32::MAX, ..held };
            next = self.graph.add(Code::And { held: whole, mask: held.mask, next });
        }
        Ok(self.graph.add(Code::Load { word: held.word, next }))
    }

    /// The comparison of A with a variable, and what follows. The recursion depth is that of [`Lowering::guarded`].
    fn compare(
        &mut self,
        func: Func,
        guards: Guards,
        comparison: &Comparison,
    ) -> Result<CodeId, DiagramError> {
        if let Some(done) = self.compared.get(&(func, guards)) {
            return Ok(*done);
        }
        let held = operand(comparison);
        let (low, high) = self.store.children(func);
        let otherwise = self.code_holding(low, guards, held)?;
        let then = self.code_holding(high, guards, held)?;
        let op = match comparison.relation {
            Relation::Equal => Op::JeqK,
            Relation::Greater => Op::JgtK,
            Relation::AtLeast => Op::JgeK,
            Relation::Shares => Op::JsetK,
        };
        let Comparison { symbol, half, .. } = *comparison;
        let code = self.graph.add(Code::Compare { held, op, symbol, half, then, otherwise });
        self.compared.insert((func, guards), code);
        Ok(code)
    }
}

/// What A holds for a comparison.
fn operand(comparison: &Comparison) -> Held {
    Held { word: comparison.word, mask: comparison.mask }
}
