//! The arguments of a syscall: the order in which they are tested, and search trees that need no plan.

use super::by_cases::MAX_SAMPLES;
use super::code::{AnyBit, CodeId, Held};
use super::lower::{Guards, Lowering};
use super::{Aim, Instructions, Result};
use crate::query::{self, Cube, Interval, Product, ProductBound, WordGraph};
use crate::threading::threaded;
use crate::tree::{ARGUMENT_WHOLE, MAX_INTERVALS, Price, search_tree, tree_code};
use crate::word::{FEW_INTERVALS, charge_search, is_scattered, weighted};
use callgate_core::diagram::Func;
use callgate_core::{Layout, Op, SeccompData, Word};

/// From this number of instructions for the arguments of one syscall, other code is tried.
const MIN_INSNS_FOR_ORDERS: usize = 6;

/// From this number of instructions, products are tried.
const MIN_INSNS_FOR_PRODUCTS: usize = 24;

/// The maximum number of words that products test together.
const MAX_WORDS_OF_PRODUCTS: usize = 512;

/// How many times as many instructions as other code has, code in the order of the diagram may need to be tried.
const MAX_LONGER: usize = 2;

impl Lowering<'_> {
    /// The code of an exit of the number. The variable order of the diagram is not always best:
    /// - if one argument determines the conditions on the others, it comes first;
    /// - if the conditions on several arguments are unrelated, the diagram has a case per combination; then
    ///   products are tested in sequence;
    /// - the rules may tell which conditions belong together.
    ///
    /// Of all the code that is made, the one with the lowest cost is taken.
    pub(super) fn entry(&mut self, func: Func) -> Result<CodeId> {
        let layout = self.store.layout();
        let argument = self.store.top_word(func).is_some_and(|word| !layout.selects(word));
        // The estimates below do not count comparisons with variables, and products have none.
        let is_fixed = !argument || query::has_comparisons(self.store, func);
        if is_fixed || self.effort == 0 || self.done.contains_key(&(func, Guards::default())) {
            return self.code(func);
        }
        let is_nested = std::mem::replace(&mut self.is_in_entry, true);
        let mut graph = WordGraph::new(self.store, func);
        let code = match graph.insns < MIN_INSNS_FOR_ORDERS {
            true => self.code(func)?,
            false => self.best(func, &mut graph)?,
        };
        self.is_in_entry = is_nested;
        // What another word first leads to is a part of code that may not be chosen.
        if !is_nested {
            self.graph.insns_beside(code, &mut self.chosen);
        }
        self.done.insert((func, Guards::default()), code);
        Ok(code)
    }

    /// The best code of an exit of the number.
    fn best(&mut self, func: Func, graph: &mut WordGraph) -> Result<CodeId> {
        let mut best = Best { least: usize::MAX, cost: f64::INFINITY, code: None };
        let samples = self.samples(func);
        for code in (self.by_rules)(self.store, (func, &samples[..]), &mut self.graph) {
            self.consider_repeating(code, &samples, func, &mut best);
        }
        // The numbers of instructions of code from the diagram are lower bounds.
        let most = |best: &Best, aim| match aim {
            Aim::Size => best.least,
            _ => best.least.saturating_mul(MAX_LONGER),
        };
        let other_first = self.best_first_word(graph)?;
        let other_first = other_first.filter(|(insns, _)| *insns <= most(&best, self.aim));
        let least = other_first.map_or(graph.insns, |(insns, _)| insns).min(best.least);
        if let Some(products) = self.best_products(func, least)? {
            let code = self.products(products)?;
            self.consider_repeating(code, &samples, func, &mut best);
        } else if let Some((_, word)) = other_first {
            let outline = query::word_first(self.store, func, word)?;
            let next = self.planned(outline, word, Guards::default())?;
            let code = self.load(word, next);
            self.consider(code, &samples, func, &mut best);
        }
        match best.code.filter(|_| graph.insns > most(&best, self.aim)) {
            Some(code) => Ok(code),
            None => {
                // Of equally good code, this one is preferred: more syscalls share what it ends with.
                let code = self.code(func)?;
                let cost = self.cost(code, &samples, func, &mut best);
                Ok(best.code.filter(|_| best.cost < cost * (1.0 - 1e-9)).unwrap_or(code))
            }
        }
    }

    /// Syscalls that stand for those of an exit of the number.
    fn samples(&self, func: Func) -> Vec<SeccompData> {
        if self.store.layout() != Layout::Seccomp {
            return Vec::new();
        }
        let samples = query::permitted_syscalls(self.store, func, SeccompData::default());
        let step = samples.len().div_ceil(MAX_SAMPLES).max(1);
        samples.into_iter().step_by(step).collect()
    }

    /// As [`Lowering::consider`], for code that may repeat tests, and for what remains of it without them.
    fn consider_repeating(
        &mut self,
        code: CodeId,
        samples: &[SeccompData],
        func: Func,
        best: &mut Best,
    ) {
        self.consider(code, samples, func, best);
        let threaded = threaded(&mut self.graph, code);
        if threaded != code {
            self.consider(threaded, samples, func, best);
        }
    }

    /// Replaces the best code by this one, if that costs less.
    fn consider(&mut self, code: CodeId, samples: &[SeccompData], func: Func, best: &mut Best) {
        let cost = self.cost(code, samples, func, best);
        if cost < best.cost * (1.0 - 1e-9) {
            (best.cost, best.code) = (cost, Some(code));
        }
    }

    /// The cost of code: of its instructions that no other code has, and of those that syscalls execute.
    fn cost(
        &mut self,
        code: CodeId,
        samples: &[SeccompData],
        func: Func,
        Best { least, .. }: &mut Best,
    ) -> f64 {
        let known = self.chosen.len();
        let insns = self.graph.insns_beside(code, &mut self.chosen);
        self.chosen.truncate(known);
        *least = insns.min(*least);
        let executed: usize = samples.iter().map(|data| self.graph.executed(code, data)).sum();
        let executed = executed as f64 / samples.len().max(1) as f64;
        let share = self.shares.get(&func).copied().unwrap_or(0.0).max(MIN_SHARE);
        share * executed + self.aim.size_price() * insns as f64
    }

    /// The word to test first for the fewest instructions, with their number; `None` if the usual first word is the best.
    fn best_first_word(&mut self, graph: &mut WordGraph) -> Result<Option<(usize, Word)>> {
        let (mut best, mut least) = (None, graph.insns);
        for word in graph.shared_words() {
            let too_many = |insns: usize| insns >= least;
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

/// The best code so far.
struct Best {
    /// The least number of instructions of any.
    least: usize,
    cost: f64,
    code: Option<CodeId>,
}

/// The share of a syscall that has none: of two programs of the same length, the one that executes less is better.
const MIN_SHARE: f64 = 1e-6;

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
