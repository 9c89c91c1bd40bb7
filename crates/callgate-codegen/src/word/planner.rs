//! The search for the plan with the lowest cost.

use rustc_hash::FxHashMap as HashMap;

use super::intervals::{MAX_EXITS, frequent_exits, is_scattered, partition, weighted};
use super::plan::{Plan, ProductExits, State};
use crate::any_bit::AnyBit;
use crate::limits::MAX_INTERVALS;
use crate::query::{Interval, Size, WordFunc, WordFuncs};
use crate::tree::{ARGUMENT_WHOLE, Price, search_tree, tree_of_pieces};
use crate::{Aim, Instructions};
use callgate_core::diagram::{DiagramError, Store};
use callgate_core::{Layout, Word};

/// The maximum depth of tests at which masks are searched.
const MAX_DEPTH: u32 = 4;

/// Above this number of intervals, only the cheaper candidates are tried.
pub(crate) const FEW_INTERVALS: usize = 24;

/// Above the cost of this number of tests, projection of bits is tried.
const MANY_TESTS: f64 = 4.0;

/// The plans for the functions of one word.
pub(crate) struct Planner {
    pub(super) word: Word,
    pub(super) funcs: WordFuncs,
    pub(super) instructions: Instructions,
    pub(super) price: Price,
    /// The cost of a test that is always executed.
    pub(super) test: f64,
    /// Whether a part of a word that was overwritten may be loaded again, in two instructions. With `jset`, few tests
    /// overwrite A.
    pub(super) restores_parts: bool,
    /// Whether search trees over pieces of intervals are tried. Their tests of masks must leave A unchanged. For speed,
    /// a shorter tree may execute more under real weights.
    pub(super) cuts_intervals: bool,
    pub(super) plans: HashMap<State, (f64, Plan)>,
    /// Lower bounds of costs.
    pub(super) at_least: HashMap<State, f64>,
    /// The number of functions for which all alternatives may still be tried.
    pub(super) effort: u32,
}

impl Planner {
    /// `effort` is the number of functions for which all alternatives may be tried.
    pub(crate) fn new(
        layout: Layout,
        word: Word,
        aim: Aim,
        instructions: Instructions,
        effort: u32,
    ) -> Planner {
        let price = Price::of_argument(aim, instructions);
        // On paths of arch and number the kernel must recognize constant allow.
        let constant_allow = layout == Layout::Seccomp && layout.selects(word);
        let bitset_tests = price.bitset_tests && !constant_allow;
        let price = Price { bitset_tests, ..price };
        Planner {
            word,
            funcs: WordFuncs::new(word),
            instructions,
            price,
            test: 1.0 + price.size,
            restores_parts: !instructions.allows_jset(),
            cuts_intervals: aim == Aim::Size && instructions.allows_jset() && !layout.selects(word),
            plans: HashMap::default(),
            at_least: HashMap::default(),
            effort,
        }
    }

    /// The remaining effort.
    pub(crate) fn effort(&self) -> u32 {
        self.effort
    }

    pub(crate) fn word(&self) -> Word {
        self.word
    }

    pub(crate) fn price(&self) -> Price {
        self.price
    }

    /// The functions of the word.
    pub(crate) fn funcs(&mut self) -> &mut WordFuncs {
        &mut self.funcs
    }

    /// The best plan found.
    pub(crate) fn plan(&mut self, store: &mut Store, state: State) -> Result<Plan, DiagramError> {
        self.solve(store, state, 0, f64::INFINITY)?;
        Ok(self.plans.get(&state).map_or(Plan::Exit, |(_, plan)| plan.clone()))
    }

    /// The cost of the best plan found, if it is below `bound`; otherwise infinity.
    pub(super) fn solve(
        &mut self,
        store: &mut Store,
        state: State,
        depth: u32,
        bound: f64,
    ) -> Result<f64, DiagramError> {
        let (func, _) = state;
        if self.funcs.is_exit(func) {
            return Ok(0.0);
        }
        if let Some((cost, _)) = self.plans.get(&state) {
            return Ok(*cost);
        }
        if bound <= self.test
            || self.at_least.get(&state).is_some_and(|at_least| bound <= *at_least)
        {
            return Ok(f64::INFINITY);
        }
        store.charge_steps(self.funcs.take_steps())?;
        let size = self.funcs.size(func, state.1);
        let few = partition(&self.funcs, store, state, size, FEW_INTERVALS)?;
        let mut best;
        let (exits, products) = match &few {
            Some(intervals) => {
                best = self.search(intervals);
                (Vec::new(), None)
            }
            None => {
                best = self.bit_by_bit(func, size.nodes);
                self.of_many(store, state, size, depth, bound, &mut best)?
            }
        };
        // One comparison cannot be beaten.
        if best.0.min(bound) > self.test && depth < MAX_DEPTH && self.effort > 0 {
            self.effort -= 1;
            match &few {
                Some(intervals) => {
                    self.of_few(store, state, intervals, depth, bound, &mut best)?;
                    self.pieces(intervals, bound, &mut best);
                }
                None => {
                    for exit in exits {
                        self.masks(store, state, exit, depth, bound, &mut best)?;
                    }
                }
            }
        }
        if best.0.min(bound) > MANY_TESTS * self.test && depth == 0 && self.effort > 0 {
            let products = match (products, few) {
                (Some(products), _) => products,
                (None, Some(_)) => self.products(store, state, &mut best)?,
                (None, None) => Vec::new(),
            };
            self.project(store, state, &products, bound, &mut best)?;
        }
        if best.0 >= bound {
            self.at_least.insert(state, bound);
            return Ok(f64::INFINITY);
        }
        let cost = best.0;
        self.plans.insert(state, best);
        Ok(cost)
    }

    /// The first candidates for many intervals. Returns the exits that some bits separate from the rest, and the
    /// products that were computed.
    fn of_many(
        &mut self,
        store: &mut Store,
        state: State,
        size: Size,
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(Vec<WordFunc>, Option<ProductExits>), DiagramError> {
        let Size { nodes, .. } = size;
        let worth_searching = self.worth_searching(best.0.min(bound));
        let intervals = partition(&self.funcs, store, state, size, worth_searching)?;
        let scattered = intervals.as_deref().is_some_and(is_scattered);
        // A function with a pattern has fewer nodes than intervals.
        let is_long = |intervals: &&_| (ARGUMENT_WHOLE + 1..nodes).contains(&Vec::len(intervals));
        if let Some(intervals) = intervals.as_ref().filter(is_long).filter(|_| scattered) {
            self.search_below(intervals, best);
            return Ok((Vec::new(), Some(Vec::new())));
        }
        let mut exits = self.funcs.exits(state.0, MAX_EXITS).unwrap_or_default();
        // For each exit, the search for common bits visits all nodes.
        store.charge_steps((nodes * exits.len()) as u64)?;
        exits.retain(|exit| {
            let bounds = self.funcs.bounds_except(state.0, *exit);
            bounds.is_some_and(|bounds| !bounds.any & state.1 != 0 || bounds.all != 0)
        });
        if depth == 0 && nodes <= 32 {
            // Most sets of many intervals are a single mask, which has a node per bit.
            for exit in &exits {
                let bound = f64::from(AnyBit::max_insns(self.instructions)) + 0.5;
                self.masks(store, state, *exit, MAX_DEPTH, bound * self.test, best)?;
            }
        }
        // The products give a bound for what follows; but scattered values have a product each.
        let products = if depth == 0 && best.0 > self.test && !scattered {
            Some(self.products(store, state, best)?)
        } else {
            None
        };
        if let Some(intervals) = intervals {
            self.search_below(&intervals, best);
        }
        Ok((exits, products))
    }

    /// The maximum number of intervals of a search tree that may cost less than this: a test removes at most two
    /// bounds of intervals.
    fn worth_searching(&self, cost: f64) -> usize {
        (2.0 * cost / self.price.size).min(MAX_INTERVALS as f64) as usize
    }

    /// Tries a search tree.
    fn search_below(&self, intervals: &[Interval<WordFunc>], best: &mut (f64, Plan)) {
        if intervals.len() <= self.worth_searching(best.0) {
            let found = self.search(intervals);
            if found.0 < best.0 {
                *best = found;
            }
        }
    }

    /// The candidates for few intervals: masks.
    fn of_few(
        &mut self,
        store: &mut Store,
        state: State,
        intervals: &[Interval<WordFunc>],
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
        for exit in frequent_exits(intervals) {
            self.masks(store, state, exit, depth, bound, best)?;
        }
        Ok(())
    }

    /// Tries a search tree over pieces of intervals.
    fn pieces(&self, intervals: &[Interval<WordFunc>], bound: f64, best: &mut (f64, Plan)) {
        let least = best.0.min(bound);
        // Two tests are not improved. Plans of masks count all of their instructions as executed.
        if !self.cuts_intervals || least <= 2.0 * self.test {
            return;
        }
        let (intervals, exits) = weighted(intervals);
        let Some(tree) = tree_of_pieces(&intervals, self.price, least) else { return };
        let is_shorter = || tree.insns() * self.test < least;
        if matches!(best.1, Plan::Search { .. }) || is_shorter() {
            *best = (tree.cost, Plan::Search { tree, exits });
        }
    }

    /// A search tree over intervals of equal weight.
    fn search(&self, intervals: &[Interval<WordFunc>]) -> (f64, Plan) {
        let (intervals, exits) = weighted(intervals);
        let tree = search_tree(&intervals, self.price);
        (tree.cost, Plan::Search { tree, exits })
    }

    /// At most one test per node of the diagram: tests the first variable of the function, and plans both cofactors
    /// separately.
    fn bit_by_bit(&self, func: WordFunc, nodes: usize) -> (f64, Plan) {
        let [otherwise, then] = self.funcs.children(func);
        let test = self.test * f64::from(AnyBit::max_insns(self.instructions));
        let mask = self.funcs.top_bit(func);
        (test * nodes as f64, Plan::AnyBit { mask, then, otherwise })
    }
}
