//! The measurements of an experiment: as the machine is set, and under other conditions.

use crate::interrupt;
use crate::jit::{Jit, Switch};
use crate::measure::{Plan, Samples};
use crate::published::Published;

/// Arranges samples as they were published.
pub(super) type Publish = Box<dyn Fn(&Runs) -> Published>;

/// What an experiment has besides its plan and its findings.
#[derive(Default)]
pub(super) struct Extra {
    /// Further measurements.
    pub(super) variations: Vec<Variation>,
    /// The results as they were published.
    pub(super) published: Option<Publish>,
    /// What is to be known about the figures.
    pub(super) notes: Vec<String>,
}

/// A plan that is measured under another condition.
pub(super) struct Variation {
    /// Its name in notes.
    pub(super) name: &'static str,
    /// How the kernel executes filters; `None` for the setting of the machine.
    pub(super) jit: Option<Jit>,
    pub(super) plan: Plan,
}

/// The samples of an experiment.
pub struct Runs {
    /// Those with the setting of the machine.
    pub own: Samples,
    /// The setting of the machine, if known.
    pub(super) jit: Option<Jit>,
    others: Vec<(&'static str, Samples)>,
    /// What was not measured, and why.
    pub(super) skipped: Vec<String>,
}

impl Runs {
    /// Measures variations with `take`, in order. Those that are not possible are skipped with the reason; after an
    /// interruption the others are, too.
    pub(super) fn of(
        own: Samples,
        variations: &[Variation],
        may_switch_jit: bool,
        take: &mut dyn FnMut(&Plan) -> Result<Samples, String>,
    ) -> Runs {
        let mut runs = Runs { own, jit: Jit::current(), others: Vec::new(), skipped: Vec::new() };
        let mut interrupted = runs.own.interrupted;
        for Variation { name, jit, plan } in variations {
            if interrupted {
                runs.skipped.push(format!("not measured: {name}, because of the interruption"));
                continue;
            }
            let change = jit.filter(|jit| runs.jit != Some(*jit));
            let switch = match change {
                Some(_) if !may_switch_jit => Err("the JIT setting may not be changed".to_owned()),
                change => change.map(Switch::to).transpose(),
            };
            match switch.and_then(|_switch| take(plan)) {
                Ok(samples) => {
                    interrupted = samples.interrupted;
                    runs.others.push((name, samples));
                }
                Err(why) => runs.skipped.push(format!("not measured: {name}: {why}")),
            }
            interrupted |= interrupt::is_requested();
        }
        runs.own.interrupted |= interrupted;
        runs
    }

    /// The samples of a variation.
    pub(super) fn variation(&self, name: &str) -> Option<&Samples> {
        self.others.iter().find(|(other, _)| *other == name).map(|(_, samples)| samples)
    }

    /// The samples under a setting of the JIT compiler: those of the machine's setting or those of the variation of this
    /// name.
    pub(super) fn under(&self, jit: Jit) -> Option<&Samples> {
        match self.jit == Some(jit) {
            true => Some(&self.own),
            false => self.variation(jit.name()),
        }
    }
}

impl Extra {
    /// The published form of the results, with all notes.
    pub(super) fn report(&self, runs: &Runs) -> Published {
        let mut published = self.published.as_ref().map(|make| make(runs)).unwrap_or_default();
        published.notes.extend(self.notes.iter().cloned());
        published.notes.extend(runs.skipped.iter().cloned());
        published
    }

    /// Variations for the settings of the JIT compiler that are not the machine's.
    pub(super) fn with_jit(mut self, settings: &[Jit], plan: &Plan) -> Extra {
        let current = Jit::current();
        for jit in settings.iter().copied().filter(|jit| current != Some(*jit)) {
            self.variations.push(Variation {
                name: jit.name(),
                jit: Some(jit),
                plan: plan.clone(),
            });
        }
        self
    }
}
