//! The arguments of a syscall: the order in which they are tested, and search trees that need no plan.

use super::code::{AnyBit, CodeId, Held};
use super::lower::{Guards, Lowering};
use super::{Instructions, Result};
use crate::query::{self, Cube, Interval, Product, ProductBound, WordGraph};
use crate::tree::{ARGUMENT_WHOLE, MAX_INTERVALS, Price, search_tree, tree_code};
use crate::word::{FEW_INTERVALS, charge_search, is_scattered, weighted};
use callgate_core::diagram::Func;
use callgate_core::{Op, Word};

/// From this number of instructions for the arguments of one syscall, other orders of words are tried.
const MIN_INSNS_FOR_ORDERS: usize = 10;

/// From this number of instructions, products are tried.
const MIN_INSNS_FOR_PRODUCTS: usize = 24;

/// The maximum number of words that products test together.
const MAX_WORDS_OF_PRODUCTS: usize = 512;

impl Lowering<'_> {
    /// The code of an exit of the number. The variable order of the diagram is not always best:
    /// - if one argument determines the conditions on the others, it comes first;
    /// - if the conditions on several arguments are unrelated, the diagram has a case per combination; then
    ///   products are tested in sequence.
    pub(super) fn entry(&mut self, func: Func) -> Result<CodeId> {
        let layout = self.store.layout();
        let argument = self.store.top_word(func).is_some_and(|word| !layout.selects(word));
        // The estimates below do not count comparisons with variables, and products have none.
        let is_fixed = !argument || query::has_comparisons(self.store, func);
        if is_fixed || self.effort == 0 || self.done.contains_key(&(func, Guards::default())) {
            return self.code(func);
        }
        let mut graph = WordGraph::new(self.store, func);
        if graph.insns < MIN_INSNS_FOR_ORDERS {
            return self.code(func);
        }
        let other_first = self.best_first_word(&mut graph)?;
        let least = other_first.map_or(graph.insns, |(insns, _)| insns);
        let code = if let Some(products) = self.best_products(func, least)? {
            self.products(products)?
        } else if let Some((_, word)) = other_first {
            let outline = query::word_first(self.store, func, word)?;
            let next = self.planned(outline, word, Guards::default())?;
            self.load(word, next)
        } else {
            return self.code(func);
        };
        self.done.insert((func, Guards::default()), code);
        Ok(code)
    }

    /// The word to test first for the fewest instructions, with their number; `None` if the usual first word is the best.
    fn best_first_word(&mut self, graph: &mut WordGraph) -> Result<Option<(usize, Word)>> {
        let (mut best, mut least) = (None, graph.insns);
        for word in graph.shared_words() {
            // A margin: this is an estimate, and code that syscalls share in the usual order is lost.
            let too_many = |insns: usize| insns + insns / 4 >= least;
            if let Some(insns) = graph.insns_with_first(self.store, word, too_many)? {
                least = insns;
                best = Some((insns, word));
            }
        }
        Ok(best)
    }

    /// A sum of products that takes fewer instructions than a bound.
    fn best_products(&mut self, func: Func, bound: usize) -> Result<Option<Alternatives>> {
        if bound < MIN_INSNS_FOR_PRODUCTS {
            return Ok(None);
        }
        let verdicts = self.store.verdicts(func);
        let [a, b] = *verdicts.as_slice() else { return Ok(None) };
        let (mut best, mut least) = (None, bound);
        let words = ProductBound::new(self.store, func);
        for (of, other) in [(a, b), (b, a)] {
            let (verdict, otherwise) = (self.store.verdict(of)?, self.store.verdict(other)?);
            // Each word of a product takes at least two instructions.
            let limit = MAX_WORDS_OF_PRODUCTS.min(least / 2);
            if words.exceeds(self.store, verdict, limit) {
                continue;
            }
            let Some(products) = query::products(self.store, func, of, limit)? else {
                continue;
            };
            let insns = |cube: &Cube| product_insns(self.instructions, cube);
            let insns = products.iter().flatten().map(|(_, cube)| insns(cube)).sum();
            if insns < least {
                least = insns;
                best = Some(Alternatives { products, verdict, otherwise });
            }
        }
        Ok(best)
    }

    /// The code that tests products in sequence.
    fn products(&mut self, alternatives: Alternatives) -> Result<CodeId> {
        let Alternatives { products, verdict, otherwise } = alternatives;
        let found = self.code(verdict)?;
        let mut next = self.code(otherwise)?;
        for product in products.into_iter().rev() {
            let failed = next;
            next = found;
            for (word, cube) in product.into_iter().rev() {
                next = self.test(word, cube, next, failed);
            }
        }
        Ok(next)
    }

    /// The code that tests one word.
    fn test(&mut self, word: Word, cube: Cube, then: CodeId, otherwise: CodeId) -> CodeId {
        let whole = Held::whole(word);
        let next = if cube.mask == u32::MAX {
            self.graph.branch(whole, Op::JeqK, cube.wanted, then, otherwise)
        } else if cube.wanted == 0 {
            let test = AnyBit::new(self.instructions, u32::MAX, cube.mask).forgetting();
            test.add(&mut self.graph, word, otherwise, then)
        } else {
            let masked = Held { word, mask: cube.mask };
            let next = self.graph.branch(masked, Op::JeqK, cube.wanted, then, otherwise);
            self.graph.and(whole, cube.mask, next)
        };
        self.graph.load(word, next)
    }
}

/// One verdict for these products, another for the rest.
struct Alternatives {
    products: Vec<Product>,
    verdict: Func,
    otherwise: Func,
}

/// The number of instructions of the test of one word, with its load.
fn product_insns(instructions: Instructions, cube: &Cube) -> usize {
    match (cube.mask, cube.wanted) {
        (u32::MAX, _) => 2,
        (mask, 0) => 1 + AnyBit::new(instructions, u32::MAX, mask).insns() as usize,
        _ => 3,
    }
}

/// Functions of a word that get a search tree at once, without a plan.
///
/// A set of values has nodes for most of the bits of each of them. The planner would copy them all, although nothing but a
/// search tree comes into question: for long lists of values without a pattern, and where no alternatives may be tried.
impl Lowering<'_> {
    /// The intervals of a word of a function with few; `None` for others, and while alternatives may be tried.
    pub(super) fn few_intervals(&self, func: Func, word: Word) -> Option<Vec<Interval>> {
        if self.effort > 0 {
            return None;
        }
        let mask = self.store.layout().mask(word);
        query::partition_within(self.store, func, word, mask, FEW_INTERVALS)
    }

    /// The intervals of a function of scattered values of a word; `None` for other functions.
    pub(super) fn scattered(&mut self, func: Func, word: Word) -> Result<Option<Vec<Interval>>> {
        let mask = self.store.layout().mask(word);
        // A function with a pattern has fewer nodes than intervals, often very many of them.
        let nodes = query::nodes_of(self.store, func, word);
        self.store.charge_steps(nodes as u64)?;
        let limit = MAX_INTERVALS.min(nodes.saturating_sub(1));
        let intervals = query::partition_within(self.store, func, word, mask, limit);
        let is_long = |intervals: &Vec<_>| intervals.len() > ARGUMENT_WHOLE;
        let intervals = intervals.filter(is_long).filter(|list| is_scattered(list));
        if intervals.is_some() {
            self.effort = self.effort.saturating_sub(1);
        }
        Ok(intervals)
    }

    /// The code of a search tree over intervals of a word, which is loaded.
    // Inlined, it would add 5 kB to the WebAssembly module.
    #[inline(never)]
    pub(super) fn over(
        &mut self,
        intervals: &[Interval],
        word: Word,
        guards: Guards,
        price: Price,
    ) -> Result<CodeId> {
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
