//! Profiles from two thirds of the runs, checked with the others.

use std::collections::BTreeMap;

use callgate_bpf::random::Rng;
use callgate_core::diagram::Store;
use callgate_trace::check::check;
use callgate_trace::generate::{GenerateOptions, Runtime, generate};
use callgate_trace::recording::Recording;
use callgate_trace::unseen::Unseen;

use callgate_tasks::Result;

/// How often the runs are divided at random.
pub(super) const SPLITS: u64 = 100;

/// What one division of the runs shows.
struct Split {
    /// How many of the other runs the profile denies something.
    broken: usize,
    /// How many other runs there are.
    others: usize,
    estimate: Unseen,
}

/// What all divisions show.
pub(super) struct Splits {
    /// The syscalls of all runs.
    pub(super) syscalls: usize,
    /// The mean share of the other runs that the profile denies something.
    pub(super) broken: f64,
    /// The mean of the estimates of this share.
    pub(super) estimate: f64,
    /// The mean of the upper ends of their intervals.
    pub(super) high: f64,
    /// In how many divisions the profile denies nothing.
    pub(super) nothing: usize,
    /// In how many divisions the share is at most the upper end of the interval.
    pub(super) foretold: usize,
    /// The syscalls that were denied, with the number of runs in all divisions, the most frequent first.
    pub(super) denied: Vec<(String, usize)>,
}

/// Divides the runs [`SPLITS`] times.
pub(super) fn splits(recordings: &[Recording]) -> Result<Splits> {
    let mut all = Vec::new();
    let mut denied = BTreeMap::new();
    for seed in 0..SPLITS {
        let mut order: Vec<&Recording> = recordings.iter().collect();
        Rng::new(seed).shuffle(&mut order);
        all.push(split(&order, &mut denied)?);
    }
    let mean = |value: &dyn Fn(&Split) -> f64| all.iter().map(value).sum::<f64>() / SPLITS as f64;
    let share = |split: &Split| split.broken as f64 / split.others.max(1) as f64;
    let mut denied: Vec<(String, usize)> = denied.into_iter().collect();
    denied.sort_by_key(|(_, runs)| std::cmp::Reverse(*runs));
    let mut merged = Recording::default();
    recordings.iter().cloned().for_each(|recording| merged.merge(recording));
    Ok(Splits {
        syscalls: merged.syscalls().len(),
        broken: mean(&share),
        estimate: mean(&|split| split.estimate.next_run.value),
        high: mean(&|split| split.estimate.next_run.high),
        nothing: all.iter().filter(|split| split.broken == 0).count(),
        foretold: all.iter().filter(|split| share(split) <= split.estimate.next_run.high).count(),
        denied,
    })
}

/// Makes a profile from the first two thirds, and checks the others with it.
fn split(order: &[&Recording], denied: &mut BTreeMap<String, usize>) -> Result<Split> {
    let (known, others) = order.split_at(order.len() * 2 / 3);
    let known: Vec<Recording> = known.iter().map(|recording| (*recording).clone()).collect();
    // Nothing that only a container's runtime needs.
    let options =
        GenerateOptions { runtime: Runtime::None, partial: true, ..GenerateOptions::default() };
    let draft = generate(&known, &options).map_err(|error| error.to_string())?;
    let estimate = Unseen::of(&draft).ok_or("an estimate needs at least two runs")?;
    let written =
        draft.write("oci".parse().expect("a language")).map_err(|error| error.to_string())?;
    let mut store = Store::default();
    let filter = store.policy(&written.policy).map_err(|error| error.to_string())?;
    let mut broken = 0;
    for recording in others {
        let findings = check(&mut store, filter, recording).map_err(|error| error.to_string())?;
        let denials: Vec<_> = findings.iter().filter(|finding| finding.is_denied()).collect();
        broken += usize::from(!denials.is_empty());
        for finding in denials {
            let name = finding.syscall.name().unwrap_or("?").to_owned();
            *denied.entry(name).or_insert(0) += 1;
        }
    }
    Ok(Split { broken, others: others.len(), estimate })
}
