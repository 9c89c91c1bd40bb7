//! The search for the plan with the lowest cost.

use crate::code::AnyBit;
use callgate_core::diagram::Store;
use callgate_core::{Layout, Word};
use rustc_hash::FxHashMap as HashMap;

use super::plan::{
    After, MAX_EXITS, Plan, ProductExits, State, frequent_exits, is_scattered, partition, weighted,
};
use crate::query::{Cube, Interval, Size, WordFunc, WordFuncs};
use crate::tree::{ARGUMENT_WHOLE, MAX_INTERVALS, Price, search_tree, tree_of_pieces};
use crate::{Aim, Instructions, Result};

/// The maximum depth of tests at which masks are searched.
const MAX_DEPTH: u32 = 4;

/// Above this number of intervals, only the cheaper candidates are tried.
pub(crate) const FEW_INTERVALS: usize = 24;

/// Above the cost of this number of tests, projection of bits is tried.
const MANY_TESTS: f64 = 4.0;

/// The maximum number of products in a sum.
const MAX_CUBES: usize = 64;

/// The maximum number of sets of bits for which projection is tried.
const MAX_PROJECTED: usize = 8;

/// The search for the plan of a function.
struct Attempt {
    state: State,
    depth: u32,
    /// Only plans that cost less are needed.
    bound: f64,
    /// The best plan so far, with its cost.
    best: (f64, Plan),
}

impl Attempt {
    /// A plan must cost less than this.
    fn least(&self) -> f64 {
        self.best.0.min(self.bound)
    }
}

/// The plans for the functions of one word.
pub(crate) struct Planner {
    pub(crate) word: Word,
    pub(crate) funcs: WordFuncs,
    instructions: Instructions,
    pub(crate) price: Price,
    /// The cost of a test that is always executed.
    test: f64,
    /// Whether a part of a word that was overwritten may be loaded again, in two instructions. With `jset`, few tests
    /// overwrite A.
    restores_parts: bool,
    /// Whether search trees over pieces of intervals are tried. Their tests of masks must leave A unchanged. For speed,
    /// a shorter tree may execute more under real weights.
    cuts_intervals: bool,
    plans: HashMap<State, (f64, Plan)>,
    /// Lower bounds of costs.
    at_least: HashMap<State, f64>,
    /// The number of functions for which all alternatives may still be tried.
    pub(crate) effort: u32,
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

    /// The best plan found.
    pub(crate) fn plan(&mut self, store: &mut Store, state: State) -> Result<Plan> {
        self.solve(store, state, 0, f64::INFINITY)?;
        Ok(self.plans.get(&state).map_or(Plan::Exit, |(_, plan)| plan.clone()))
    }

    /// The cost of the best plan found, if it is below `bound`; otherwise infinity.
    fn solve(&mut self, store: &mut Store, state: State, depth: u32, bound: f64) -> Result<f64> {
        let (func, held) = state;
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
        let size = self.funcs.size(func, held);
        let few = partition(&self.funcs, store, state, size, FEW_INTERVALS)?;
        let best = match &few {
            Some(intervals) => self.search(intervals),
            None => self.bit_by_bit(func, size.nodes),
        };
        let mut attempt = Attempt { state, depth, bound, best };
        let (exits, products) = match &few {
            Some(intervals) => (frequent_exits(intervals), None),
            None => self.of_many(store, size, &mut attempt)?,
        };
        // One comparison cannot be beaten.
        if attempt.least() > self.test && depth < MAX_DEPTH && self.effort > 0 {
            self.effort -= 1;
            for exit in exits {
                self.masks(store, exit, &mut attempt)?;
            }
            if let Some(intervals) = &few {
                self.pieces(intervals, &mut attempt);
            }
        }
        if attempt.least() > MANY_TESTS * self.test && depth == 0 && self.effort > 0 {
            let products = match (products, few) {
                (Some(products), _) => products,
                (None, Some(_)) => self.products(store, &mut attempt)?,
                (None, None) => Vec::new(),
            };
            self.project(store, &products, &mut attempt)?;
        }
        let best = attempt.best;
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
        size: Size,
        attempt: &mut Attempt,
    ) -> Result<(Vec<WordFunc>, Option<ProductExits>)> {
        let ((func, held), nodes) = (attempt.state, size.nodes);
        let worth_searching = self.worth_searching(attempt.least());
        let intervals = partition(&self.funcs, store, attempt.state, size, worth_searching)?;
        let scattered = intervals.as_deref().is_some_and(is_scattered);
        // A function with a pattern has fewer nodes than intervals.
        let is_long = |intervals: &&_| (ARGUMENT_WHOLE + 1..nodes).contains(&Vec::len(intervals));
        if let Some(intervals) = intervals.as_ref().filter(is_long).filter(|_| scattered) {
            self.search_below(intervals, attempt);
            return Ok((Vec::new(), Some(Vec::new())));
        }
        let mut exits = self.funcs.exits(func, MAX_EXITS).unwrap_or_default();
        // For each exit, the search for common bits visits all nodes.
        store.charge_steps((nodes * exits.len()) as u64)?;
        exits.retain(|exit| {
            let bounds = self.funcs.bounds_except(func, *exit);
            bounds.is_some_and(|bounds| !bounds.any & held != 0 || bounds.all != 0)
        });
        let is_first = attempt.depth == 0;
        if is_first && nodes <= 32 {
            // Most sets of many intervals are a single mask, which has a node per bit.
            let bound = f64::from(AnyBit::max_insns(self.instructions)) + 0.5;
            let usual = std::mem::replace(&mut attempt.bound, bound * self.test);
            attempt.depth = MAX_DEPTH;
            for exit in &exits {
                self.masks(store, *exit, attempt)?;
            }
            (attempt.depth, attempt.bound) = (0, usual);
        }
        // The products give a bound for what follows; but scattered values have a product each.
        let products = if is_first && attempt.best.0 > self.test && !scattered {
            Some(self.products(store, attempt)?)
        } else {
            None
        };
        if let Some(intervals) = intervals {
            self.search_below(&intervals, attempt);
        }
        Ok((exits, products))
    }

    /// The maximum number of intervals of a search tree that may cost less than this: a test removes at most two
    /// bounds of intervals.
    fn worth_searching(&self, cost: f64) -> usize {
        (2.0 * cost / self.price.size).min(MAX_INTERVALS as f64) as usize
    }

    /// Tries a search tree.
    fn search_below(&self, intervals: &[Interval<WordFunc>], attempt: &mut Attempt) {
        if intervals.len() <= self.worth_searching(attempt.best.0) {
            let found = self.search(intervals);
            if found.0 < attempt.best.0 {
                attempt.best = found;
            }
        }
    }

    /// Tries a search tree over pieces of intervals.
    fn pieces(&self, intervals: &[Interval<WordFunc>], attempt: &mut Attempt) {
        let least = attempt.least();
        // Two tests are not improved. Plans of masks count all of their instructions as executed.
        if !self.cuts_intervals || least <= 2.0 * self.test {
            return;
        }
        let (intervals, exits) = weighted(intervals);
        let Some(tree) = tree_of_pieces(&intervals, self.price, least) else { return };
        let is_shorter = || tree.insns() * self.test < least;
        if matches!(attempt.best.1, Plan::Search { .. }) || is_shorter() {
            attempt.best = (tree.cost, Plan::Search { tree, exits });
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

    /// The test whether A, which holds the bits `held`, shares a bit with a mask.
    pub(crate) fn any_bit(&self, held: u32, mask: u32) -> AnyBit {
        AnyBit::new(self.instructions, held, mask)
    }

    /// Whether the test of a product leaves A unchanged.
    pub(crate) fn keeps_a(&self, cube: &Cube, held: u32) -> bool {
        cube.mask == held || cube.wanted == 0 && self.any_bit(held, cube.mask).keeps_a()
    }

    /// Tries tests of the bits that separate `exit` from the rest.
    fn masks(&mut self, store: &mut Store, exit: WordFunc, attempt: &mut Attempt) -> Result<()> {
        let Attempt { state: (func, held), depth, .. } = *attempt;
        let Some(bounds) = self.funcs.bounds_except(func, exit) else { return Ok(()) };
        let (never, always) = (!bounds.any & held, bounds.all);
        let mut test = self.any_bit_cost(held, never);
        let mut left = attempt.least() - test;
        if never != 0 && left > 0.0 {
            let rest = self.funcs.fix_bits(func, never, 0);
            let kept = self.any_bit(held, never).kept_if_clear();
            let cost = self.solve_after_test(store, (rest, held), kept, depth, left)?;
            if cost < left {
                attempt.best =
                    (test + cost, Plan::AnyBit { mask: never, then: exit, otherwise: rest });
                left = cost;
            }
        }
        let other_test = self.any_bit_cost(held, always);
        left -= other_test - test;
        test = other_test;
        if always.is_power_of_two() && left > 0.0 {
            let rest = self.funcs.fix_bits(func, always, always);
            let kept = self.any_bit(held, always).kept_if_set();
            let cost = self.solve_after_test(store, (rest, held), kept, depth, left)?;
            if cost < left {
                attempt.best =
                    (test + cost, Plan::AnyBit { mask: always, then: rest, otherwise: exit });
                left = cost;
            }
        }
        let mask = never | always;
        left -= 2.0 * self.test - test;
        if always != 0 && mask != held && left > 0.0 {
            let rest = self.funcs.fix_bits(func, mask, always);
            let is_part = !self.funcs.is_exit(rest) && held != u32::MAX;
            let cost = if is_part && !self.restores_parts {
                f64::INFINITY
            } else {
                self.solve_after_test(store, (rest, held), mask, depth, left)?
            };
            if cost < left {
                let plan = Plan::Masked { mask, value: always, then: rest, otherwise: exit };
                attempt.best = (2.0 * self.test + cost, plan);
            }
        }
        Ok(())
    }

    /// The cost of a test that is always executed.
    fn any_bit_cost(&self, held: u32, mask: u32) -> f64 {
        self.test * f64::from(self.any_bit(held, mask).insns())
    }

    /// As [`Self::solve`] after a test that leaves the bits `kept` of A, with the cost of restoring the others.
    fn solve_after_test(
        &mut self,
        store: &mut Store,
        (func, held): State,
        kept: u32,
        depth: u32,
        bound: f64,
    ) -> Result<f64> {
        let After { held, reload } = self.after_test((func, held), kept);
        let reload = self.test * f64::from(reload);
        Ok(reload + self.solve(store, (func, held), depth + 1, bound - reload)?)
    }

    /// How a function continues after a test that leaves the bits `kept` of `held`: with these, if it depends on no
    /// others.
    pub(crate) fn after_test(&self, (func, held): State, kept: u32) -> After {
        if kept == held || self.funcs.bits(func) & !kept == 0 {
            After { held: kept, reload: 0 }
        } else {
            After { held, reload: if held == u32::MAX { 1 } else { 2 } }
        }
    }

    /// The products of all exits except the one with the most values; tries the plan that tests them in sequence.
    /// Empty if there are too many.
    fn products(&mut self, store: &mut Store, attempt: &mut Attempt) -> Result<ProductExits> {
        let (func, held) = attempt.state;
        let Some(exits) = self.funcs.exits(func, MAX_EXITS) else { return Ok(Vec::new()) };
        let size = |exit: &WordFunc| self.funcs.values_to(func, *exit);
        let Some(otherwise) = exits.iter().copied().max_by_key(size) else {
            return Ok(Vec::new());
        };
        let mut products = Vec::new();
        for exit in exits.into_iter().filter(|exit| *exit != otherwise) {
            let Some(cubes) = self.funcs.cover(func, exit, MAX_CUBES) else {
                store.charge_steps(self.funcs.take_steps())?;
                return Ok(Vec::new());
            };
            products.extend(cubes.into_iter().map(|cube| (cube, exit)));
        }
        // Tests that preserve A come first.
        products.sort_by_key(|(cube, _)| (self.insns(cube, held), cube.mask, cube.wanted));
        let insns: u32 = products.iter().map(|(cube, _)| self.insns(cube, held)).sum();
        let cost = self.test * f64::from(insns);
        if cost < attempt.best.0 {
            attempt.best = (cost, Plan::Products { products: products.clone(), otherwise });
        }
        Ok(products)
    }

    /// Tries projection: the values for which some bits matter first, then the rest without these bits.
    fn project(
        &mut self,
        store: &mut Store,
        products: &[(Cube, WordFunc)],
        attempt: &mut Attempt,
    ) -> Result<()> {
        let (func, held) = attempt.state;
        let Some(exits) = self.funcs.exits(func, MAX_EXITS) else { return Ok(()) };
        let listed = |exit: &WordFunc| products.iter().any(|(_, listed)| listed == exit);
        let Some(exit) = exits.into_iter().find(|exit| !listed(exit)) else { return Ok(()) };
        let mut free: HashMap<u32, usize> = HashMap::default();
        for (cube, _) in products {
            *free.entry(held & !cube.mask).or_default() += 1;
        }
        for free in promising(&free) {
            let then = self.funcs.independent_of(func, free, exit);
            if then == exit {
                continue;
            }
            let left = attempt.least() - self.test;
            // At least one test finds the values for which the bits matter.
            let least = if then == func { 0.0 } else { self.test };
            let rest = self.solve(store, (then, held & !free), 1, left - least)?;
            if rest + least >= left {
                continue;
            }
            let first = self.funcs.disagreement(func, then, exit);
            let cost = rest + self.solve(store, (first, held), 1, left - rest)?;
            if cost < left {
                let mask = held & !free;
                attempt.best = (self.test + cost, Plan::Project { mask, first, exit, then });
            }
        }
        Ok(())
    }

    /// The number of instructions that test a product if A holds the bits `held`.
    fn insns(&self, cube: &Cube, held: u32) -> u32 {
        // Otherwise load, and, compare.
        if self.keeps_a(cube, held) { 1 } else { 3 }
    }
}

/// Sets of bits that do not matter for many cubes: those of the cubes and their pairwise intersections, the best
/// first.
fn promising(free: &HashMap<u32, usize>) -> Vec<u32> {
    let mut sets: Vec<(u32, usize)> = free.iter().map(|(set, count)| (*set, *count)).collect();
    sets.sort_by_key(|(set, count)| (std::cmp::Reverse(*count), *set));
    sets.truncate(MAX_CUBES);
    let mut candidates: HashMap<u32, u32> = HashMap::default();
    for (i, (a, _)) in sets.iter().enumerate() {
        for (b, _) in sets.iter().skip(i) {
            let shared = a & b;
            if shared != 0 && !candidates.contains_key(&shared) {
                let holds = sets.iter().filter(|(set, _)| set & shared == shared);
                let cubes: usize = holds.map(|(_, count)| count).sum();
                candidates.insert(shared, cubes as u32 * shared.count_ones());
            }
        }
    }
    let mut candidates: Vec<(u32, u32)> = candidates.into_iter().collect();
    candidates.sort_by_key(|(set, gain)| (std::cmp::Reverse(*gain), *set));
    candidates.truncate(MAX_PROJECTED);
    candidates.into_iter().map(|(set, _)| set).collect()
}
