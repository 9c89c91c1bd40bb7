//! Measures an experiment.

use std::time::Duration;

use callgate_experiments::experiment::{Experiment, Options};
use callgate_experiments::published::Published;
use callgate_measure::{Plan, Samples, allowed_cpus, measure};

use callgate_tasks::Result;

use crate::libseccomp_program::of_machine;
use crate::measuring::built_in_policy;
use crate::progress::Progress;

/// An experiment's results.
pub(super) struct Measured {
    pub(super) experiment: Experiment,
    pub(super) published: Published,
    pub(super) rounds: usize,
    pub(super) elapsed: Duration,
    /// Whether nothing stopped it.
    pub(super) is_whole: bool,
}

/// The options of all experiments.
pub(super) fn options() -> Result<Options> {
    Ok(Options {
        policy: built_in_policy()?,
        libseccomp: of_machine(),
        is_given: false,
        may_switch_jit: true,
        subjects: Vec::new(),
        weights: Vec::new(),
        cpu: allowed_cpus().pop(),
        cold: None,
        seed: 1,
    })
}

/// Measures an experiment; `None` if it is stopped before its first round is complete.
pub(super) fn measured(
    experiment: Experiment,
    options: &Options,
    time: Option<Duration>,
) -> Result<Option<Measured>> {
    let failed = |error: String| format!("{}: {error}", experiment.name());
    let mut setup = experiment.setup(options).map_err(|error| failed(error.to_string()))?;
    if let Some(time) = time {
        setup.set_time(time, experiment.duration(false));
    }
    let mut progress = Progress::new(experiment.name(), setup.time());
    let mut take = |plan: &Plan| -> Result<Samples> {
        progress.part(plan.time);
        measure(plan, &mut |share| progress.at(share)).map_err(|error| error.to_string())
    };
    let own = take(&setup.plan).map_err(failed)?;
    if own.rounds() == 0 {
        return Ok(None);
    }
    let runs = setup.vary(own, &mut |plan, _| take(plan));
    drop(progress);
    Ok(Some(Measured {
        experiment,
        published: setup.published(&runs),
        rounds: runs.own.rounds(),
        elapsed: runs.own.elapsed,
        is_whole: !runs.own.interrupted,
    }))
}
