//! Measures an experiment.

use std::time::Duration;

use callgate_experiments::experiment::{Experiment, Options};
use callgate_experiments::published::Published;
use callgate_measure::report::{Aggregate, aggregates};
use callgate_measure::{allowed_cpus, measure};

use callgate_tasks::Result;

use crate::libseccomp_program::of_machine;
use crate::measuring::built_in_policy;

/// An experiment's results.
pub(super) struct Measured {
    pub(super) experiment: Experiment,
    pub(super) published: Published,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) rounds: usize,
    pub(super) elapsed: Duration,
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
        quick: false,
        cpu: allowed_cpus().pop(),
        cold: None,
        seed: 1,
    })
}

/// Measures an experiment.
pub(super) fn measured(
    experiment: Experiment,
    options: &Options,
    time: Option<Duration>,
) -> Result<Measured> {
    let failed = |error: String| format!("{}: {error}", experiment.name());
    let mut setup = experiment.setup(options).map_err(|error| failed(error.to_string()))?;
    if let Some(time) = time {
        setup.set_time(time, experiment.duration(false));
    }
    let own = measure(&setup.plan, &mut |_| {}).map_err(|error| failed(error.to_string()))?;
    let runs =
        setup.vary(own, &mut |plan| measure(plan, &mut |_| {}).map_err(|error| error.to_string()));
    if runs.own.interrupted {
        return Err("interrupted".to_owned());
    }
    Ok(Measured {
        experiment,
        published: setup.published(&runs),
        aggregates: aggregates(&setup.plan, &runs.own, 2),
        rounds: runs.own.rounds(),
        elapsed: runs.own.elapsed,
    })
}
