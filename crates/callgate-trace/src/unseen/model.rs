//! What was not seen, according to a draft of a profile.

use super::chao2::chao2;
use super::estimate::Estimate;
use super::incidence::Incidence;
use super::next_run::next_run;
use crate::generate::Draft;
use crate::recording::Evidence;

/// What the recorded runs say about runs that were not recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unseen {
    /// The number of recorded runs, at least 2.
    pub runs: u64,
    /// How many syscalls were made by one run only.
    pub once: u64,
    /// How many values of limited arguments were seen in one run only, other than those that libraries may use in any
    /// run.
    pub values_once: u64,
    /// How many runs made such a syscall or had such a value.
    pub runs_alone: u64,
    /// The probability that the next run makes a syscall that no recorded run made, or has another value of a limited
    /// argument.
    pub next_run: Estimate,
    /// A lower bound of the number of syscalls that no recorded run made; `None` if too few were made by one run only.
    pub syscalls: Option<Estimate>,
}

impl Unseen {
    /// The estimates for the recordings of a draft; `None` if these are of fewer than two runs.
    pub fn of(draft: &Draft) -> Option<Unseen> {
        let recorded = draft.recorded();
        let runs = recorded.runs().len() as u64;
        let syscalls: Vec<Evidence> = recorded.syscalls().map(|(_, stats)| stats.seen()).collect();
        (runs >= 2).then(|| Unseen::estimate(runs, &syscalls, &draft.limited_values()))
    }

    /// The estimates for at least two runs, from the runs of each syscall and of each value.
    pub(super) fn estimate(runs: u64, syscalls: &[Evidence], values: &[Evidence]) -> Unseen {
        let in_runs =
            |seen: &[Evidence], runs| seen.iter().filter(|seen| seen.runs() == runs).count() as u64;
        let mut incidence = Incidence::default();
        syscalls.iter().chain(values).for_each(|seen| incidence.add(*seen));
        let (once, twice) = (in_runs(syscalls, 1), in_runs(syscalls, 2));
        let runs_alone = incidence.alone(runs);
        Unseen {
            runs,
            once,
            values_once: in_runs(values, 1),
            runs_alone,
            next_run: next_run(runs, runs_alone, incidence.pairs()),
            syscalls: chao2(runs, syscalls.len() as u64, once, twice),
        }
    }
}
