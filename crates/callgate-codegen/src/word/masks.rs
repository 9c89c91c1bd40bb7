//! Tests of masks, and what A holds after them.

use super::plan::{After, Plan, State};
use super::planner::Planner;
use crate::any_bit::AnyBit;
use crate::query::{Cube, WordFunc};
use callgate_core::diagram::{DiagramError, Store};

impl Planner {
    /// The test whether A, which holds the bits `held`, shares a bit with a mask.
    pub(crate) fn any_bit(&self, held: u32, mask: u32) -> AnyBit {
        AnyBit::new(self.instructions, held, mask)
    }

    /// Whether the test of a product leaves A unchanged.
    pub(crate) fn keeps_a(&self, cube: &Cube, held: u32) -> bool {
        cube.mask == held || cube.wanted == 0 && self.any_bit(held, cube.mask).keeps_a()
    }

    /// Tries tests of the bits that separate `exit` from the rest.
    pub(super) fn masks(
        &mut self,
        store: &mut Store,
        (func, held): State,
        exit: WordFunc,
        depth: u32,
        bound: f64,
        best: &mut (f64, Plan),
    ) -> Result<(), DiagramError> {
        let Some(bounds) = self.funcs.bounds_except(func, exit) else { return Ok(()) };
        let (never, always) = (!bounds.any & held, bounds.all);
        let mut test = self.any_bit_cost(held, never);
        let mut left = best.0.min(bound) - test;
        if never != 0 && left > 0.0 {
            let rest = self.funcs.fix_bits(func, never, 0);
            let kept = self.any_bit(held, never).kept_if_clear();
            let cost = self.solve_after_test(store, (rest, held), kept, depth, left)?;
            if cost < left {
                *best = (test + cost, Plan::AnyBit { mask: never, then: exit, otherwise: rest });
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
                *best = (test + cost, Plan::AnyBit { mask: always, then: rest, otherwise: exit });
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
                *best = (2.0 * self.test + cost, plan);
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
    ) -> Result<f64, DiagramError> {
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
}
