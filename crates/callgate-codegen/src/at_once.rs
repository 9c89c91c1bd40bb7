//! Functions of a word that get a search tree at once, without a plan.
//!
//! A set of values has nodes for most of the bits of each of them. The planner would copy them all, although nothing but a
//! search tree comes into question: for long lists of values without a pattern, and where no alternatives may be tried.

use super::code::{CodeId, Held};
use super::lower::{Guards, Lowering};
use crate::limits::MAX_INTERVALS;
use crate::query::{self, Interval};
use crate::tree::{ARGUMENT_WHOLE, Price, search_tree, tree_code};
use crate::word::{FEW_INTERVALS, charge_search, is_scattered, weighted};
use callgate_core::Word;
use callgate_core::diagram::{DiagramError, Func};

impl Lowering<'_> {
    /// The code of a function of few intervals of a word, which is loaded; `None` for others, and while alternatives may be
    /// tried.
    pub(super) fn few_intervals(
        &mut self,
        func: Func,
        word: Word,
        guards: Guards,
        price: Price,
    ) -> Result<Option<CodeId>, DiagramError> {
        if self.effort > 0 {
            return Ok(None);
        }
        let mask = self.store.layout().mask(word);
        match query::partition_within(self.store, func, word, mask, FEW_INTERVALS) {
            Some(intervals) => self.over(&intervals, word, guards, price).map(Some),
            None => Ok(None),
        }
    }

    /// The code of a function of scattered values of a word, which is loaded; `None` for other functions.
    pub(super) fn scattered(
        &mut self,
        func: Func,
        word: Word,
        guards: Guards,
        price: Price,
    ) -> Result<Option<CodeId>, DiagramError> {
        let mask = self.store.layout().mask(word);
        // A function with a pattern has fewer nodes than intervals, often very many of them.
        let nodes = query::nodes_of(self.store, func, word);
        self.store.charge_steps(nodes as u64)?;
        let limit = MAX_INTERVALS.min(nodes.saturating_sub(1));
        let intervals = query::partition_within(self.store, func, word, mask, limit);
        let is_long = |intervals: &Vec<_>| intervals.len() > ARGUMENT_WHOLE;
        let Some(intervals) = intervals.filter(is_long).filter(|list| is_scattered(list)) else {
            return Ok(None);
        };
        self.effort = self.effort.saturating_sub(1);
        self.over(&intervals, word, guards, price).map(Some)
    }

    /// The code of a search tree over intervals of a word.
    // Inlined, it would add 5 kB to the WebAssembly module.
    #[inline(never)]
    fn over(
        &mut self,
        intervals: &[Interval],
        word: Word,
        guards: Guards,
        price: Price,
    ) -> Result<CodeId, DiagramError> {
        charge_search(self.store, intervals.len())?;
        let mask = self.store.layout().mask(word);
        let (intervals, exits) = weighted(intervals);
        let tree = search_tree(&intervals, price);
        let mut codes =
            [mask, 0].map(|mask| (Held { word, mask }, Vec::with_capacity(exits.len())));
        for exit in exits {
            for (held, codes) in &mut codes {
                codes.push(self.code_holding(exit, guards, *held)?);
            }
        }
        let [(held, codes), (_, codes_without_a)] = codes;
        let (graph, instructions) = (&mut self.graph, self.instructions);
        Ok(tree_code(graph, instructions, &tree, &codes, &codes_without_a, held))
    }
}
