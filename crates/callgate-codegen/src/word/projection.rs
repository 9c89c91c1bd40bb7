//! Products, and the bits that do not matter for most of them.

use rustc_hash::FxHashMap as HashMap;

use super::intervals::MAX_EXITS;
use super::plan::{Plan, ProductExits, State};
use super::planner::Planner;
use crate::query::{Cube, WordFunc};
use callgate_core::diagram::{DiagramError, Store};

/// The maximum number of products in a sum.
const MAX_CUBES: usize = 64;

/// The maximum number of sets of bits for which projection is tried.
const MAX_PROJECTED: usize = 8;

impl Planner {
    /// The products of all exits except the one with the most values; tries the plan that tests them in sequence.
    /// Empty if there are too many.
    pub(super) fn products(
        &mut self,
        store: &mut Store,
        (func, held): State,
        best: &mut (f64, Plan),
    ) -> Result<ProductExits, DiagramError> {
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
        if cost < best.0 {
            *best = (cost, Plan::Products { products: products.clone(), otherwise });
        }
        Ok(products)
    }

    /// Tries projection: the values for which some bits matter first, then the rest without these bits.
    pub(super) fn project(
        &mut self,
        store: &mut Store,
        (func, held): State,
        products: &[(Cube, WordFunc)],
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
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
            let left = best.0.min(bound) - self.test;
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
                *best = (self.test + cost, Plan::Project { mask, first, exit, then });
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
