//! The syscalls that are measured, and their weights.

use callgate_core::diagram::Store;
use callgate_measure::{Body, Mean, MeasurableSyscall, Subject, choose_syscalls};

use super::calls::{self, MOST_CALLS};
use super::options::FiltersArgs;
use crate::options::native_arch;
use crate::report::{Failure, Result};
use crate::source::{Combine, SourceStack};

/// The syscalls to measure.
pub(super) struct SelectedSyscalls {
    pub(super) syscalls: Vec<MeasurableSyscall>,
    /// The share of all syscalls, for each of them; none if frequencies are not known.
    weights: Option<Vec<f64>>,
}

/// The syscalls of the options, or one of each treatment.
pub(super) fn selected(
    args: &FiltersArgs,
    stacks: &[SourceStack],
    subjects: &[Subject],
) -> Result<SelectedSyscalls> {
    let given = calls::parse(&args.calls)?;
    let shares = match (&args.calls_from, args.compiling.has_weights()) {
        (Some(file), false) => Some(calls::recorded(file, args.reading.strict)?),
        (Some(file), true) => {
            let recorded = calls::recorded(file, args.reading.strict)?;
            Some(with_arguments(shares(args, stacks)?, &recorded))
        }
        (None, true) => Some(shares(args, stacks)?),
        (None, false) => None,
    };
    let Some(shares) = shares else {
        let syscalls = if given.is_empty() { choose_syscalls(subjects) } else { given };
        return Ok(SelectedSyscalls { syscalls, weights: None });
    };
    let selected = if given.is_empty() { most_frequent(shares) } else { shared(&given, &shares) };
    let (syscalls, weights) = selected.into_iter().unzip();
    Ok(SelectedSyscalls { syscalls, weights: Some(weights) })
}

/// The syscalls of --weights that can be measured, each with its share of all syscalls.
fn shares(args: &FiltersArgs, stacks: &[SourceStack]) -> Result<Vec<(MeasurableSyscall, f64)>> {
    let native = native_arch()?;
    let Some(first) = stacks.first() else { return Ok(Vec::new()) };
    let options = args.compiling.read(&[native], args.reading.strict)?;
    let mut store = Store::default();
    let root = first.diagram(&mut store)?;
    let all = options.weights.resolve(&store, root, &[native]);
    let sum: f64 = all.iter().map(|call| call.weight).sum();
    let known = MeasurableSyscall::all().filter_map(|call| {
        let own = all.iter().find(|own| own.nr == call.data().nr && own.weight > 0.0)?;
        Some((call, own.weight / sum))
    });
    let shares: Vec<(MeasurableSyscall, f64)> = known.collect();
    match shares.is_empty() {
        true => Err(Failure::new("none of the syscalls with a weight can be measured")
            .help("--list-calls prints the syscalls that can be measured")),
        false => Ok(shares),
    }
}

fn most_frequent(mut shares: Vec<(MeasurableSyscall, f64)>) -> Vec<(MeasurableSyscall, f64)> {
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(MOST_CALLS);
    shares
}

/// The arguments of a recording, the shares of other counts.
fn with_arguments(
    shares: Vec<(MeasurableSyscall, f64)>,
    recorded: &[(MeasurableSyscall, f64)],
) -> Vec<(MeasurableSyscall, f64)> {
    let of = |call: MeasurableSyscall| recorded.iter().find(|(own, _)| own.name == call.name);
    shares.into_iter().map(|(call, share)| (of(call).map_or(call, |own| own.0), share)).collect()
}

/// Given syscalls with their shares; several with the same name share it equally.
fn shared(
    given: &[MeasurableSyscall],
    shares: &[(MeasurableSyscall, f64)],
) -> Vec<(MeasurableSyscall, f64)> {
    let share = |call: &MeasurableSyscall| {
        let share = shares.iter().find(|(own, _)| own.name == call.name).map_or(0.0, |own| own.1);
        share / given.iter().filter(|other| other.name == call.name).count().max(1) as f64
    };
    given.iter().map(|call| (*call, share(call))).collect()
}

impl SelectedSyscalls {
    /// The weighted mean over the syscalls that no subject denies.
    pub(super) fn mean(&self, subjects: &[Subject], bodies: &[Body]) -> Result<Option<Mean>> {
        let Some(weights) = &self.weights else { return Ok(None) };
        if weights.iter().sum::<f64>() <= 0.0 {
            return Err(Failure::new("none of these syscalls has a weight")
                .help("omit --calls, or give syscalls that have a weight"));
        }
        let mean = Mean { title: String::new(), weights: weights.clone() };
        let mean = mean.without_denied(subjects, bodies);
        let share = mean.weights.iter().sum::<f64>() * 100.0;
        let denied: Vec<&str> = (self.syscalls.iter().zip(weights).zip(&mean.weights))
            .filter(|((_, before), after)| **before > 0.0 && **after == 0.0)
            .map(|((call, _), _)| call.name)
            .collect();
        if share <= 0.0 {
            return Err(Failure::new(format!(
                "a filter denies each syscall that has a weight: {}",
                denied.join(", ")
            ))
            .help("give arguments that the filters allow with --calls; callgate simulate shows verdicts"));
        }
        let without = match denied.as_slice() {
            [] => String::new(),
            denied => format!("; without {}, denied", denied.join(", ")),
        };
        let title = format!("weighted mean ({share:.1} % of all syscalls{without})");
        Ok(Some(Mean { title, ..mean }))
    }
}
