//! Long lists of values without a pattern: they get a search tree at once.
//!
//! A set of values has nodes for most of the bits of each of them. The planner would copy them all, although nothing but a
//! search tree comes into question.

use super::code::{CodeId, Held};
use super::lower::{Guards, Lowering};
use crate::limits::MAX_INTERVALS;
use crate::query;
use crate::tree::{ARGUMENT_WHOLE, Price, search_tree};
use crate::word::{charge_search, is_scattered, weighted};
use callgate_bpf::data::Word;
use callgate_proof::diagram::{DiagramError, Func};

impl Lowering<'_> {
    /// The code of a function of scattered values of a word, which is loaded; `None` for other functions.
    // Inlined twice, it would add 5 kB to the WebAssembly module.
    #[inline(never)]
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
        charge_search(self.store, intervals.len())?;
        self.effort = self.effort.saturating_sub(1);
        let (intervals, exits) = weighted(&intervals);
        let tree = search_tree(&intervals, price);
        let mut codes =
            [mask, 0].map(|mask| (Held { word, mask }, Vec::with_capacity(exits.len())));
        for exit in exits {
            for (held, codes) in &mut codes {
                codes.push(self.code_holding(exit, guards, *held)?);
            }
        }
        let [(held, codes), (_, codes_without_a)] = codes;
        Ok(Some(self.tree(&tree, &codes, &codes_without_a, held)))
    }
}
