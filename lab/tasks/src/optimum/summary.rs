//! The results of a kind of functions.

use super::compare::{Best, Comparison};
use super::generator::Measured;
use super::instances::Instance;
use callgate_codegen::Aim;

/// The results for a kind of functions and an aim.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub(super) instances: usize,
    /// The number of functions for which the search was finished.
    pub(super) decided: usize,
    /// The number of functions whose generated program is the best.
    pub(super) optimal: usize,
    /// The sums over the decided functions.
    pub(super) generated: f64,
    pub(super) best: f64,
    /// The number of functions for which the search was not finished, although it found a better program.
    pub(super) improved: usize,
    /// The decided functions that are not optimal, with the difference, the largest first.
    pub(super) worst: Vec<(f64, Instance, Comparison)>,
}

impl Summary {
    pub(super) fn add(&mut self, instance: Instance, aim: Aim, comparison: Comparison) {
        let (price, unit) = (instance.cost(aim).size_price, instance.unit(aim));
        let cost = |measured: Measured| match aim {
            Aim::Size => f64::from(measured.insns),
            Aim::Speed | Aim::Quick => f64::from(measured.cost(price)) / unit,
        };
        let generated = cost(comparison.generated);
        let best = match comparison.best {
            Best::Generated => generated,
            Best::Other(best) => cost(best),
            Best::Unknown(known) => {
                self.improved += usize::from(known.is_some());
                return;
            }
        };
        self.decided += 1;
        self.generated += generated;
        self.best += best;
        match comparison.best {
            Best::Generated => self.optimal += 1,
            _ => self.worst.push((generated - best, instance, comparison)),
        }
    }
}
