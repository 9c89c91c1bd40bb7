//! Tests on one argument word: the choice between search trees and masks.
//!
//! Candidates come from the function itself, not from a list of known patterns. For each exit `E`
//! of a word, the diagram says what the values that do *not* lead to `E` have in common:
//! - bits that none of them has: if any is set the result is `E`, one `jset`;
//! - a bit that all of them have: if it is clear the result is `E`, one `jset`;
//! - both kinds together: `and` and `jeq`.
//!
//! What remains knows those bits and is smaller; it is planned in the same way. A single value that
//! spoils such a pattern may be tested first. A search tree over the runs of values competes with all
//! that, and where there are too many runs, single bits are tested.

use rustc_hash::FxHashMap as HashMap;

use super::tree::{Price, Run, Tree, search_tree};
use crate::data::Word;
use crate::diagram::{Func, OutOfBudget, Split, Store};

/// Above so many runs of values no search tree is built.
const MAX_RUNS: usize = 2048;

/// How many tests deep masks are looked for.
const MAX_DEPTH: u32 = 4;

/// Above so many runs, or exits, only the cheaper candidates are tried.
const FEW: usize = 24;

/// How many exits are tried as the one to be told apart.
const MAX_EXITS: usize = 4;

/// How many single values may be tested before a mask.
const MAX_PEELED: u32 = 2;

/// What one executed test costs in terms of one instruction more in the program: argument checks are
/// many and each is rare.
const EXECUTED: f64 = 0.25;

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
    /// `jeq #value`.
    Value { value: u32, then: Func, otherwise: Func },
}

/// The plans for the functions of one word.
pub(super) struct Planner {
    word: Word,
    plans: HashMap<Func, (f64, Plan)>,
}

impl Planner {
    pub(super) fn new(word: Word) -> Planner {
        Planner { word, plans: HashMap::default() }
    }

    pub(super) fn word(&self) -> Word {
        self.word
    }

    /// The best plan found.
    pub(super) fn plan(&mut self, store: &mut Store, func: Func) -> Result<Plan, OutOfBudget> {
        self.solve(store, func, 0)?;
        Ok(self.plans.get(&func).map_or(Plan::Exit, |(_, plan)| plan.clone()))
    }

    fn solve(&mut self, store: &mut Store, func: Func, depth: u32) -> Result<f64, OutOfBudget> {
        if store.top_word(func) != Some(self.word) {
            return Ok(0.0);
        }
        if let Some((cost, _)) = self.plans.get(&func) {
            return Ok(*cost);
        }
        let few = store.partition(func, self.word, FEW);
        let mut best = match &few {
            Some(runs) => search(runs),
            None => (f64::INFINITY, Plan::Exit),
        };
        // One comparison cannot be beaten.
        if best.0 > 1.0 + EXECUTED && depth < MAX_DEPTH {
            let exits = match &few {
                Some(runs) => frequent_exits(runs),
                None => store.exits(func, self.word, FEW).unwrap_or_default(),
            };
            for exit in exits {
                self.masks(store, func, exit, depth, &mut best)?;
            }
            if let Some(runs) = few.as_ref().filter(|_| depth < MAX_PEELED) {
                for [before, single] in runs.array_windows().filter(|[_, s]| s.first == s.last) {
                    self.peel(store, func, single.first, before.then, depth, &mut best)?;
                }
            }
        }
        if few.is_none() {
            // A test takes away two borders between runs at the most, so with more runs than this
            // a search tree is no better than what was found.
            let limit = (2.0 * best.0).min(MAX_RUNS as f64) as usize;
            let found = match store.partition(func, self.word, limit) {
                Some(runs) => search(&runs),
                None if best.0.is_infinite() => self.top_bit(store, func, depth)?,
                None => best.clone(),
            };
            if found.0 < best.0 {
                best = found;
            }
        }
        let cost = best.0;
        self.plans.insert(func, best);
        Ok(cost)
    }

    /// Tests of the bits that tell `exit` from the rest.
    fn masks(
        &mut self,
        store: &mut Store,
        func: Func,
        exit: Func,
        depth: u32,
        best: &mut (f64, Plan),
    ) -> Result<(), OutOfBudget> {
        let Some(bounds) = store.bounds_except(func, self.word, exit) else { return Ok(()) };
        let (never, always) = (!bounds.any, bounds.all);
        if never != 0 && 1.0 + EXECUTED < best.0 {
            let rest = store.fix_bits(func, self.word, never, 0)?;
            let cost = 1.0 + EXECUTED + self.solve(store, rest, depth + 1)?;
            if cost < best.0 {
                *best = (cost, Plan::AnyBit { mask: never, then: exit, otherwise: rest });
            }
        }
        if always.is_power_of_two() && 1.0 + EXECUTED < best.0 {
            let rest = store.fix_bits(func, self.word, always, always)?;
            let cost = 1.0 + EXECUTED + self.solve(store, rest, depth + 1)?;
            if cost < best.0 {
                *best = (cost, Plan::AnyBit { mask: always, then: rest, otherwise: exit });
            }
        }
        let mask = never | always;
        if always != 0 && mask != u32::MAX && 2.0 * (1.0 + EXECUTED) < best.0 {
            let rest = store.fix_bits(func, self.word, mask, always)?;
            let again = if store.top_word(rest) == Some(self.word) { 1.0 + EXECUTED } else { 0.0 };
            let cost = 2.0 * (1.0 + EXECUTED) + again + self.solve(store, rest, depth + 1)?;
            if cost < best.0 {
                *best = (cost, Plan::Masked { mask, value: always, then: rest, otherwise: exit });
            }
        }
        Ok(())
    }

    /// A single value first; elsewhere it counts as one that leads to `instead`.
    fn peel(
        &mut self,
        store: &mut Store,
        func: Func,
        value: u32,
        instead: Func,
        depth: u32,
        best: &mut (f64, Plan),
    ) -> Result<(), OutOfBudget> {
        if 2.0 * (1.0 + EXECUTED) >= best.0 {
            return Ok(());
        }
        let then = store.follow(func, self.word, value);
        let rest = store.split(self.word, Split::Equal(value), instead, func)?;
        let cost = 1.0 + EXECUTED + self.solve(store, rest, depth + 1)?;
        if cost < best.0 {
            *best = (cost, Plan::Value { value, then, otherwise: rest });
        }
        Ok(())
    }

    /// The first bit that the function looks at.
    fn top_bit(
        &mut self,
        store: &mut Store,
        func: Func,
        depth: u32,
    ) -> Result<(f64, Plan), OutOfBudget> {
        let mask = store.top_bit(func);
        let otherwise = store.fix_bits(func, self.word, mask, 0)?;
        let then = store.fix_bits(func, self.word, mask, mask)?;
        let (low, high) = (self.solve(store, otherwise, depth)?, self.solve(store, then, depth)?);
        let cost = 1.0 + EXECUTED + low + high;
        Ok((cost, Plan::AnyBit { mask, then, otherwise }))
    }
}

/// A search tree over runs, all equally frequent.
fn search(runs: &[crate::diagram::Interval]) -> (f64, Plan) {
    let mut exits: Vec<Func> = Vec::new();
    let mut class_of = HashMap::default();
    let weight = EXECUTED / runs.len() as f64;
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
    let tree = search_tree(&runs, Price { size: 1.0 });
    (tree.cost, Plan::Search { tree, exits })
}

/// The exits of runs, those of most runs first.
fn frequent_exits(runs: &[crate::diagram::Interval]) -> Vec<Func> {
    let mut counts: HashMap<Func, usize> = HashMap::default();
    for run in runs {
        *counts.entry(run.then).or_default() += 1;
    }
    let mut exits: Vec<(Func, usize)> = counts.into_iter().collect();
    exits.sort_by_key(|(exit, count)| (std::cmp::Reverse(*count), *exit));
    exits.truncate(MAX_EXITS);
    exits.into_iter().map(|(exit, _)| exit).collect()
}
