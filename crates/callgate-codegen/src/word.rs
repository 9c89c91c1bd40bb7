//! Tests on one argument word: the choice between search trees and masks.
//!
//! Candidates come from the function itself, not from a list of known patterns. For each exit `E`
//! of a word, the diagram says what the values that do *not* lead to `E` have in common:
//! - bits that none of them has: if any is set the result is `E`, one `jset`;
//! - a bit that all of them have: if it is clear the result is `E`, one `jset`;
//! - both kinds together: `and` and `jeq`.
//!
//! What remains knows those bits and is smaller; it is planned in the same way.
//!
//! Where some bits do not matter for most values (the size bits of an `ioctl` number, say), the values
//! for which they do matter are found first; then `and` takes these bits away, and the rest is
//! planned on what is left. Which bits to try is read off an irredundant sum of products.
//!
//! A search tree over the runs of values competes with all that, and where there are many runs, so
//! does testing the bits one by one, as the diagram does.

use rustc_hash::FxHashMap as HashMap;

use super::Aim;
use super::tree::{ARGUMENT_WHOLE, Price, Run, Tree, search_tree};
use crate::query::{self, Cube, Interval};
use callgate_bpf::data::Word;
use callgate_proof::diagram::{DiagramError, Func, Store};

/// Above so many runs of values no search tree is built: a test takes away two borders between runs
/// at the most, so no tree over more would fit into a program.
const MAX_RUNS: usize = 1 << 15;

/// How many tests deep masks are looked for.
const MAX_DEPTH: u32 = 4;

/// Above so many runs, or exits, only the cheaper candidates are tried.
const FEW: usize = 24;

/// How many exits are tried as the one to be told apart.
const MAX_EXITS: usize = 4;

/// From so many tests on it is tried to leave bits out.
const MANY: f64 = 4.0;

/// Sums of more products are not looked at.
const MAX_CUBES: usize = 64;

/// How many sets of bits are tried to be left out.
const MAX_PROJECTED: usize = 8;

/// How a function of a word goes on.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// It does not look at the word any more.
    Exit,
    /// A search tree over the runs; its classes are the exits.
    Search { tree: Tree, exits: Vec<Func> },
    /// `jset #mask`.
    AnyBit { mask: u32, then: Func, otherwise: Func },
    /// `and #mask` and `jeq #value`. A holds the word no longer.
    Masked { mask: u32, value: u32, then: Func, otherwise: Func },
    /// The plan of `first`; where it leads to `exit`, `and #mask` and the plan of `then`.
    Project { mask: u32, first: Func, exit: Func, then: Func },
    /// The products one after the other, each with the exit it leads to: `jeq`, `jset`, or `and` and
    /// `jeq`. Where none fits, the last exit.
    Products { products: Sum, otherwise: Func },
}

/// Products with the exits they lead to.
type Sum = Vec<(Cube, Func)>;

/// A function, and which bits of the word A holds; the function does not look at others.
type Place = (Func, u32);

/// The plans for the functions of one word.
pub(super) struct Planner {
    word: Word,
    price: Price,
    /// What one test costs that is always made.
    test: f64,
    plans: HashMap<Place, (f64, Plan)>,
    /// What is known to cost at least this.
    beyond: HashMap<Place, f64>,
    /// How many functions may still be looked at in every way.
    effort: u32,
}

impl Planner {
    /// `effort` says how many functions may be looked at in every way.
    pub(super) fn new(word: Word, aim: Aim, effort: u32) -> Planner {
        // Of a number, the kernel must see what is always allowed.
        let windows = !matches!(word, Word::ARCH | Word::NR);
        let price = Price { windows, ..Price::of_argument(aim) };
        Planner {
            word,
            price,
            test: 1.0 + price.size,
            plans: HashMap::default(),
            beyond: HashMap::default(),
            effort,
        }
    }

    /// What is left of the effort.
    pub(super) fn effort(&self) -> u32 {
        self.effort
    }

    pub(super) fn word(&self) -> Word {
        self.word
    }

    /// The best plan found.
    pub(super) fn plan(&mut self, store: &mut Store, place: Place) -> Result<Plan, DiagramError> {
        self.solve(store, place, 0, f64::INFINITY)?;
        Ok(self.plans.get(&place).map_or(Plan::Exit, |(_, plan)| plan.clone()))
    }

    /// The cost of the best plan found, if it is below `bound`; else infinity.
    fn solve(
        &mut self,
        store: &mut Store,
        place: Place,
        depth: u32,
        bound: f64,
    ) -> Result<f64, DiagramError> {
        let (func, _) = place;
        if store.top_word(func) != Some(self.word) {
            return Ok(0.0);
        }
        if let Some((cost, _)) = self.plans.get(&place) {
            return Ok(*cost);
        }
        if bound <= self.test || self.beyond.get(&place).is_some_and(|beyond| bound <= *beyond) {
            return Ok(f64::INFINITY);
        }
        let few = partition(store, place, self.word, FEW)?;
        let mut best;
        let (exits, products) = match &few {
            Some(runs) => {
                best = self.search(runs);
                (Vec::new(), None)
            }
            None => {
                let nodes = query::nodes_of_word(store, func, self.word);
                best = self.bit_by_bit(store, func, nodes)?;
                self.of_many(store, place, nodes, depth, bound, &mut best)?
            }
        };
        // One comparison cannot be beaten.
        if best.0.min(bound) > self.test && depth < MAX_DEPTH && self.effort > 0 {
            self.effort -= 1;
            match &few {
                Some(runs) => self.of_few(store, place, runs, depth, bound, &mut best)?,
                None => {
                    for exit in exits {
                        self.masks(store, place, exit, depth, bound, &mut best)?;
                    }
                }
            }
        }
        if best.0.min(bound) > MANY * self.test && depth == 0 && self.effort > 0 {
            let products = match (products, few) {
                (Some(products), _) => products,
                (None, Some(_)) => self.products(store, place, &mut best)?,
                (None, None) => Vec::new(),
            };
            self.project(store, place, &products, bound, &mut best)?;
        }
        if best.0 >= bound {
            self.beyond.insert(place, bound);
            return Ok(f64::INFINITY);
        }
        let cost = best.0;
        self.plans.insert(place, best);
        Ok(cost)
    }

    /// What is tried first where there are many runs. Returns the exits that some bits tell from the
    /// rest, and the products that were looked at.
    fn of_many(
        &mut self,
        store: &mut Store,
        place: Place,
        nodes: usize,
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(Vec<Func>, Option<Sum>), DiagramError> {
        let runs = partition(store, place, self.word, self.worth_searching(best.0.min(bound)))?;
        let scattered = runs.as_deref().is_some_and(scattered);
        // What has a pattern shares nodes.
        let is_long = |runs: &&_| (ARGUMENT_WHOLE + 1..nodes).contains(&Vec::len(runs));
        if let Some(runs) = runs.as_ref().filter(is_long).filter(|_| scattered) {
            self.search_below(runs, best);
            return Ok((Vec::new(), Some(Vec::new())));
        }
        let mut exits = store.exits(place.0, self.word, MAX_EXITS).unwrap_or_default();
        // For each, the bits that its values have in common are looked for in all nodes.
        store.charge_steps((nodes * exits.len()) as u64)?;
        exits.retain(|exit| {
            let bounds = query::bounds_except(store, place.0, self.word, *exit);
            bounds.is_some_and(|bounds| !bounds.any & place.1 != 0 || bounds.all != 0)
        });
        if depth == 0 && nodes <= 32 {
            // Most sets of many runs are one mask, which is a node for each of its bits.
            for exit in &exits {
                self.masks(store, place, *exit, MAX_DEPTH, 1.5 * self.test, best)?;
            }
        }
        // Products are a bound for what follows; but of scattered values there is one for each.
        let products = if depth == 0 && best.0 > self.test && !scattered {
            Some(self.products(store, place, best)?)
        } else {
            None
        };
        if let Some(runs) = runs {
            self.search_below(&runs, best);
        }
        Ok((exits, products))
    }

    /// Of how many runs a search tree might cost less than this: a test takes away two borders between
    /// runs at the most.
    fn worth_searching(&self, cost: f64) -> usize {
        (2.0 * cost / self.price.size).min(MAX_RUNS as f64) as usize
    }

    /// A search tree, where it is better.
    fn search_below(&self, runs: &[Interval], best: &mut (f64, Plan)) {
        if runs.len() <= self.worth_searching(best.0) {
            let found = self.search(runs);
            if found.0 < best.0 {
                *best = found;
            }
        }
    }

    /// What is tried where there are few runs: masks.
    fn of_few(
        &mut self,
        store: &mut Store,
        place: Place,
        runs: &[Interval],
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
        for exit in frequent_exits(runs) {
            self.masks(store, place, exit, depth, bound, best)?;
        }
        Ok(())
    }

    /// A search tree over runs, all equally frequent.
    fn search(&self, runs: &[Interval]) -> (f64, Plan) {
        let mut exits: Vec<Func> = Vec::new();
        let mut class_of = HashMap::default();
        let weight = 1.0 / runs.len() as f64;
        let runs: Vec<Run> = runs
            .iter()
            .map(|run| {
                let next = exits.len();
                let class = *class_of.entry(run.then).or_insert(next);
                if class == next {
                    exits.push(run.then);
                }
                Run { first: run.first, last: run.last, class, weight }
            })
            .collect();
        let tree = search_tree(&runs, self.price);
        (tree.cost, Plan::Search { tree, exits })
    }

    /// Tests of the bits that tell `exit` from the rest.
    fn masks(
        &mut self,
        store: &mut Store,
        (func, held): Place,
        exit: Func,
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
        let Some(bounds) = query::bounds_except(store, func, self.word, exit) else {
            return Ok(());
        };
        let (never, always) = (!bounds.any & held, bounds.all);
        let mut left = best.0.min(bound) - self.test;
        if never != 0 && left > 0.0 {
            let rest = query::fix_bits(store, func, self.word, never, 0)?;
            let cost = self.solve(store, (rest, held), depth + 1, left)?;
            if cost < left {
                *best =
                    (self.test + cost, Plan::AnyBit { mask: never, then: exit, otherwise: rest });
                left = cost;
            }
        }
        if always.is_power_of_two() && left > 0.0 {
            let rest = query::fix_bits(store, func, self.word, always, always)?;
            let cost = self.solve(store, (rest, held), depth + 1, left)?;
            if cost < left {
                *best =
                    (self.test + cost, Plan::AnyBit { mask: always, then: rest, otherwise: exit });
                left = cost;
            }
        }
        let mask = never | always;
        left -= self.test;
        if always != 0 && mask != held && left > 0.0 {
            let rest = query::fix_bits(store, func, self.word, mask, always)?;
            let again = if store.top_word(rest) == Some(self.word) { self.test } else { 0.0 };
            // What is loaded again is the whole word.
            let cost = if again > 0.0 && held != u32::MAX {
                f64::INFINITY
            } else {
                again + self.solve(store, (rest, held), depth + 1, left - again)?
            };
            if cost < left {
                let plan = Plan::Masked { mask, value: always, then: rest, otherwise: exit };
                *best = (2.0 * self.test + cost, plan);
            }
        }
        Ok(())
    }

    /// The products of the exits, but for the one of most values, and the plan that tests them one
    /// after the other. None when they are too many.
    fn products(
        &mut self,
        store: &mut Store,
        (func, held): Place,
        best: &mut (f64, Plan),
    ) -> Result<Sum, DiagramError> {
        let Some(exits) = store.exits(func, self.word, MAX_EXITS) else { return Ok(Vec::new()) };
        let size = |exit: &Func| query::values_to(store, func, self.word, *exit);
        let Some(otherwise) = exits.iter().copied().max_by_key(size) else {
            return Ok(Vec::new());
        };
        let mut products = Vec::new();
        for exit in exits.into_iter().filter(|exit| *exit != otherwise) {
            let Some(cubes) = query::cover(store, func, self.word, exit, MAX_CUBES)? else {
                return Ok(Vec::new());
            };
            products.extend(cubes.into_iter().map(|cube| (cube, exit)));
        }
        // What leaves A as it is comes first.
        products.sort_by_key(|(cube, _)| (cube.insns(held), cube.mask, cube.wanted));
        let insns: u32 = products.iter().map(|(cube, _)| cube.insns(held)).sum();
        let cost = self.test * f64::from(insns);
        if cost < best.0 {
            *best = (cost, Plan::Products { products: products.clone(), otherwise });
        }
        Ok(products)
    }

    /// First the values for which some bits matter, then the rest without these bits.
    fn project(
        &mut self,
        store: &mut Store,
        (func, held): Place,
        products: &[(Cube, Func)],
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
        let Some(exits) = store.exits(func, self.word, MAX_EXITS) else { return Ok(()) };
        let listed = |exit: &Func| products.iter().any(|(_, listed)| listed == exit);
        let Some(exit) = exits.into_iter().find(|exit| !listed(exit)) else { return Ok(()) };
        let mut free: HashMap<u32, usize> = HashMap::default();
        for (cube, _) in products {
            *free.entry(held & !cube.mask).or_default() += 1;
        }
        for free in promising(&free) {
            let then = query::whatever(store, func, self.word, free, exit)?;
            let first = query::disagreement(store, func, then, self.word, exit)?;
            if first == func {
                continue;
            }
            let left = best.0.min(bound) - self.test;
            let rest = self.solve(store, (then, held & !free), 1, left)?;
            let cost = rest + self.solve(store, (first, held), 1, left - rest)?;
            if cost < left {
                let mask = held & !free;
                *best = (self.test + cost, Plan::Project { mask, first, exit, then });
            }
        }
        Ok(())
    }

    /// One test for each node of the diagram, at the most: the first bit that the function looks at
    /// is tested, and what remains on either side is planned on its own.
    fn bit_by_bit(
        &self,
        store: &mut Store,
        func: Func,
        nodes: usize,
    ) -> Result<(f64, Plan), DiagramError> {
        store.charge_steps(nodes as u64)?;
        let mask = query::top_bit(store, func);
        let otherwise = query::fix_bits(store, func, self.word, mask, 0)?;
        let then = query::fix_bits(store, func, self.word, mask, mask)?;
        Ok((self.test * nodes as f64, Plan::AnyBit { mask, then, otherwise }))
    }
}

/// Sets of bits that do not matter for many cubes: those of the cubes themselves and what two of
/// them share, the best first.
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

impl Cube {
    /// How many instructions test it where A holds `held`.
    fn insns(&self, held: u32) -> u32 {
        match (self.mask == held, self.wanted) {
            (true, _) | (_, 0) => 1,
            // Load, and, compare.
            _ => 3,
        }
    }
}

/// The runs of values, at the price of a search tree over them: functions without any pattern have
/// very many, again and again.
fn partition(
    store: &mut Store,
    (func, held): Place,
    word: Word,
    limit: usize,
) -> Result<Option<Vec<Interval>>, DiagramError> {
    if query::repetitions(store, func, word, held) > limit as u64 {
        return Ok(None);
    }
    let runs = query::partition_within(store, func, word, held, limit);
    // Walking them, and the dynamic program of the search tree over them.
    let (walked, searched) =
        (runs.as_ref().map_or(limit, Vec::len), runs.as_ref().map_or(0, Vec::len));
    store.charge_steps((walked + searched * searched.min(ARGUMENT_WHOLE).pow(2) / 48) as u64)?;
    Ok(runs)
}

/// The exits of runs, those of most runs first; of equally many the one that comes first. Nothing here
/// may depend on the numbers of functions, which are others when the same rules are said otherwise.
fn frequent_exits(runs: &[Interval]) -> Vec<Func> {
    let mut exits: Vec<(Func, usize)> = Vec::new();
    for run in runs {
        match exits.iter_mut().find(|(exit, _)| *exit == run.then) {
            Some((_, count)) => *count += 1,
            None => exits.push((run.then, 1)),
        }
    }
    exits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    exits.truncate(MAX_EXITS);
    exits.into_iter().map(|(exit, _)| exit).collect()
}

/// Whether there are few values to a run, but for those of one exit.
fn scattered(runs: &[Interval]) -> bool {
    const FEW_VALUES: u128 = 3;
    let values = |run: &Interval| u128::from(run.last - run.first) + 1;
    let Some(widest) = runs.iter().max_by_key(|run| values(run)).map(|run| run.then) else {
        return false;
    };
    let others = || runs.iter().filter(|run| run.then != widest);
    others().map(values).sum::<u128>() <= FEW_VALUES * others().count() as u128
}
