//! The measurements of an experiment: as the machine is set, and under other conditions.

use std::time::Duration;

use crate::jit::{Jit, Switch};
use crate::published::Published;
use callgate_measure::interrupt;
use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples};

/// Arranges samples as they were published.
pub(super) type Publish = Box<dyn Fn(&Runs) -> Published>;

/// Measures a plan with these bodies.
pub type Take<'t> = dyn FnMut(&Plan, &[Shown]) -> Result<Samples, String> + 't;

/// What an experiment has besides its plan and its findings.
#[derive(Default)]
pub(super) struct Extra {
    /// Further measurements.
    pub(super) variations: Vec<Variation>,
    /// The results as they were published.
    pub(super) published: Option<Publish>,
    /// Notes on the figures.
    pub(super) notes: Vec<String>,
    /// The time that `published` takes, if it measures too.
    pub(super) after: Duration,
}

/// A plan that is measured under another condition.
pub(super) struct Variation {
    /// Its name in notes.
    pub(super) name: &'static str,
    /// How the kernel executes filters; `None` for the setting of the machine.
    pub(super) jit: Option<Jit>,
    pub(super) plan: Plan,
    /// Its bodies, if they are not those of the experiment's own plan.
    pub(super) bodies: Option<Vec<Shown>>,
}

/// The samples of a plan under another condition.
pub struct Varied {
    /// The name of the condition.
    pub name: &'static str,
    /// The plan.
    pub plan: Plan,
    /// Its bodies, as a report shows them.
    pub bodies: Vec<Shown>,
    /// Its samples.
    pub samples: Samples,
}

/// The samples of an experiment.
pub struct Runs {
    /// Those with the setting of the machine.
    pub own: Samples,
    /// The setting of the machine, if known.
    pub(super) jit: Option<Jit>,
    /// Those under other conditions.
    pub others: Vec<Varied>,
    /// What was not measured, and why.
    pub(super) skipped: Vec<String>,
}

impl Runs {
    /// Measures variations with `take`, in order. Those that are not possible are skipped with the reason; after an
    /// interruption the others are, too.
    pub(super) fn of(
        own: Samples,
        variations: &[Variation],
        usual: &[Shown],
        may_switch_jit: bool,
        take: &mut Take<'_>,
    ) -> Runs {
        let mut runs = Runs { own, jit: Jit::current(), others: Vec::new(), skipped: Vec::new() };
        let mut interrupted = runs.own.interrupted;
        for Variation { name, jit, plan, bodies } in variations {
            let bodies = bodies.as_deref().unwrap_or(usual);
            if interrupted {
                runs.skipped.push(format!("not measured: {name}, because of the interruption"));
                continue;
            }
            let change = jit.filter(|jit| runs.jit != Some(*jit));
            let switch = match change {
                Some(_) if !may_switch_jit => Err("the JIT setting may not be changed".to_owned()),
                change => change.map(Switch::to).transpose(),
            };
            match switch.and_then(|_switch| take(plan, bodies)) {
                Ok(samples) => {
                    interrupted = samples.interrupted;
                    let (plan, bodies) = (plan.clone(), bodies.to_vec());
                    runs.others.push(Varied { name, plan, bodies, samples });
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
        self.others.iter().find(|one| one.name == name).map(|one| &one.samples)
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

impl Variation {
    /// Whether this machine and the caller permit it.
    fn is_possible(&self, may_switch_jit: bool) -> bool {
        match self.jit.filter(|jit| Jit::current() != Some(*jit)) {
            Some(jit) => may_switch_jit && Switch::to(jit).is_ok(),
            None => true,
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

    /// Sets the time of an experiment that usually takes `usual`, and divides it among the measurements that are possible
    /// here. If it is shorter than usual, processes are shorter too, so that there are as many rounds.
    pub(super) fn set_time(
        &mut self,
        own: &mut Plan,
        may_switch_jit: bool,
        time: Duration,
        usual: Duration,
    ) {
        let (time, usual) = (
            time.saturating_sub(self.after).max(time / 4),
            usual.saturating_sub(self.after).max(usual / 4),
        );
        let count = own.batches.count;
        let all: Duration =
            self.variations.iter().map(|one| one.plan.time).sum::<Duration>() + own.time;
        let possible = self.variations.iter_mut().filter(|one| one.is_possible(may_switch_jit));
        let mut plans: Vec<&mut Plan> =
            possible.map(|one| &mut one.plan).chain([&mut *own]).collect();
        let sum: Duration = plans.iter().map(|plan| plan.time).sum();
        let usual = usual.as_secs_f64() * sum.as_secs_f64() / all.as_secs_f64();
        for plan in &mut plans {
            let share = time.as_secs_f64() / usual;
            plan.batches.count = shortened(plan.batches.count, share);
            plan.time = time.mul_f64(plan.time.as_secs_f64() / sum.as_secs_f64());
            plan.min_rounds = 1;
        }
        if own.batches.count < count {
            self.notes.push(format!(
                "shortened by --time or --quick: a process measures {} batches instead of {count}",
                own.batches.count
            ));
        }
    }

    /// The time of the variations that are possible here.
    pub(super) fn possible_time(&self, may_switch_jit: bool) -> Duration {
        let possible = self.variations.iter().filter(|one| one.is_possible(may_switch_jit));
        possible.map(|one| one.plan.time).sum::<Duration>() + self.after
    }

    /// Variations for the settings of the JIT compiler that are not the machine's.
    pub(super) fn with_jit(mut self, settings: &[Jit], plan: &Plan) -> Extra {
        let current = Jit::current();
        for jit in settings.iter().copied().filter(|jit| current != Some(*jit)) {
            self.variations.push(Variation {
                name: jit.name(),
                jit: Some(jit),
                plan: plan.clone(),
                bodies: None,
            });
        }
        self
    }
}

/// The number of batches for this share of the usual time.
fn shortened(count: u32, share: f64) -> u32 {
    let fewest = if count >= 5 { 3.0 } else { 1.0 };
    (f64::from(count) * share).round().clamp(fewest, f64::from(count)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_measure::Batches;
    use callgate_measure::Subject;

    #[test]
    fn processes_are_shortened_to_three_batches_at_least() {
        assert_eq!(
            [(15, 0.5), (15, 0.01), (4, 0.01), (15, 9.0)]
                .map(|(count, share)| shortened(count, share)),
            [8, 3, 1, 15]
        );
    }

    #[test]
    fn the_time_is_divided_among_the_measurements_that_are_possible() {
        let plan = Plan {
            subjects: vec![Subject::none()],
            bodies: Vec::new(),
            mean: None,
            batches: Batches::default(),
            min_rounds: 15,
            max_rounds: 1000,
            time: Duration::from_secs(20),
            precision: 0.0,
            seed: 1,
        };
        let variation = |jit| Variation { name: "x", jit, plan: plan.clone(), bodies: None };
        // Without the right to switch, that of another setting is skipped.
        let other = if Jit::current() == Some(Jit::Off) { Jit::On } else { Jit::Off };
        let variations = vec![variation(None), variation(Some(other))];
        let mut extra = Extra { variations, ..Extra::default() };
        let mut own = plan.clone();
        extra.set_time(&mut own, false, Duration::from_secs(10), Duration::from_secs(60));
        let of = |plan: &Plan| (plan.time.as_secs(), plan.batches.count);
        assert_eq!(of(&own), (5, 4));
        assert_eq!(of(&extra.variations[0].plan), (5, 4));
        assert_eq!(of(&extra.variations[1].plan), (20, 15));
        assert_eq!(extra.notes.len(), 1);
    }
}
