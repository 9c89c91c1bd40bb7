//! The weighted mean over the syscalls of a program, under equivalent filters: gVisor's measurement of 2024.
//!
//! The built-in frequencies are the published ones of gVisor's process while a Postgres benchmark runs in it
//! (`mixes/gvisor-postgres.tsv`). They are measured in two ways, without the syscalls that a filter denies, because the
//! kernel skips these:
//!
//! - each syscall in a loop of its own, and the weighted mean of the loops;
//! - a random sequence of the syscalls, drawn with the weights and a fixed seed, the same for all filters. That is how gVisor's
//!   `secbench` measures: it draws the next syscall, with weights, while it measures, and adds up the time of all of them.
//!
//! Overheads are compared over no filter and, as published, over the smallest filter.

use std::sync::Arc;

use super::error::{ExperimentError, ExperimentErrorKind};
use super::runs::{Extra, Runs, Variation};
use super::setup::{Options, Setup, compiled, shown};
use crate::published::{Figure, Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::MeasurableSyscall;
use callgate_measure::Mix;
use callgate_measure::Subject;
use callgate_measure::report::{Shown, aggregates, pairs};
use callgate_measure::{Mean, Plan, Samples};

/// A description in one line.
pub(super) const ABOUT: &str = "weighted mean over the syscalls of a program (2024)";

/// The subjects before the filters: no filter, and the smallest one.
const BASES: [usize; 2] = [0, 1];
const FIRST: usize = 2;

/// The number of syscalls in the random sequence; a batch makes each of them once. The branch predictor does not learn a
/// sequence of this length, and a share of 56 % is drawn to within 0.8 % (two standard deviations).
const SEQUENCE: u32 = 1 << 14;

/// The name of the measurement of the sequence.
const RANDOM: &str = "random mix";

/// The time of each of both measurements, in seconds.
const TIME: u64 = 15;

/// The frequencies of gVisor's process.
const GVISOR_POSTGRES: &str = include_str!("../../mixes/gvisor-postgres.tsv");

/// The syscalls of a table of names, counts and arguments that exist on this machine, each with its share.
fn shares(table: &str) -> Vec<(MeasurableSyscall, f64)> {
    let rows = || table.lines().filter(|line| !line.starts_with('#')).filter_map(row);
    let sum: f64 = rows().map(|(_, count, _)| count).sum();
    let call = |name: &str, args: &str| {
        let call = MeasurableSyscall::find(name)?;
        if args.is_empty() {
            return Some(call);
        }
        let mut values = [0; 6];
        for (slot, text) in values.iter_mut().zip(args.split(", ")) {
            *slot = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                None => text.parse().ok()?,
            };
        }
        call.with_args(values).ok()
    };
    rows().filter_map(|(name, count, args)| Some((call(name, args)?, count / sum))).collect()
}

fn row(line: &str) -> Option<(&str, f64, &str)> {
    let mut fields = line.split('\t');
    Some((fields.next()?, fields.next()?.parse().ok()?, fields.next().unwrap_or_default()))
}

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let mut subjects = vec![Subject::none(), Subject::constant_allow()];
    if options.subjects.is_empty() {
        let policy = &options.policy;
        subjects.push(Subject::new("libseccomp, list", [options.libseccomp.list(policy)?])?);
        subjects.push(Subject::new("libseccomp, tree", [options.libseccomp.tree(policy)?])?);
        subjects.push(Subject::new("Callgate", [compiled(policy)?])?);
    } else {
        subjects.extend(options.subjects.iter().cloned());
    }
    let (of, weights) = match options.weights.is_empty() {
        true => ("the calls of gVisor with Postgres", shares(GVISOR_POSTGRES)),
        false => ("all syscalls", options.weights.clone()),
    };
    let (syscalls, weights): (Vec<MeasurableSyscall>, Vec<f64>) = weights.into_iter().unzip();
    let bodies: Vec<Body> = syscalls.iter().copied().map(Body::from).collect();
    let mean = Mean { title: String::new(), weights }.without_denied(&subjects, &bodies);
    let share = mean.weights.iter().sum::<f64>() * 100.0;
    if share <= 0.0 {
        return Err(ExperimentError(ExperimentErrorKind::AllDenied));
    }
    let title = format!("weighted mean ({share:.2} % of {of})");
    let shown = shown(&subjects, &syscalls);
    let random = match options.cold {
        None => random(options, &subjects, &syscalls, &mean.weights),
        Some(_) => None,
    };
    let notes = options.cold.map(|_| {
        "not measured: the random mix: it is measured without --cold only, because each cold syscall is timed alone".to_owned()
    });
    let plan = options.plan(subjects, bodies, TIME);
    // Many syscalls: short processes, because the round is the sampling unit.
    let batches = Batches { count: 5, ..plan.batches };
    let plan = Plan { mean: Some(Mean { title, ..mean }), batches, ..plan };
    let own = plan.clone();
    let published = move |runs: &Runs| published(runs, &own);
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: ABOUT.to_owned(),
        bodies: shown,
        plan,
        findings: Box::new(|_: &Samples| Vec::new()),
        extra: Extra {
            variations: random.into_iter().collect(),
            published: Some(Box::new(published)),
            notes: notes.into_iter().collect(),
            ..Extra::default()
        },
    })
}

/// The measurement of the random sequence.
fn random(
    options: &Options,
    subjects: &[Subject],
    syscalls: &[MeasurableSyscall],
    weights: &[f64],
) -> Option<Variation> {
    let weighted: Vec<(MeasurableSyscall, f64)> =
        syscalls.iter().copied().zip(weights.iter().copied()).collect();
    let mix = Mix::draw(&weighted, SEQUENCE as usize, options.seed)?;
    let title = format!(
        "a random sequence of {} syscalls of {} kinds, drawn with the weights (seed {}): each",
        mix.length(),
        mix.shares().count(),
        options.seed
    );
    let shown = Shown { title: title.clone(), treatments: Vec::new(), is_claimed: true };
    let plan = options.plan(subjects.to_vec(), vec![Body::Mix(Arc::new(mix))], TIME);
    let batches = Batches { count: 5, iterations: SEQUENCE, warm_up: SEQUENCE / 8, ..plan.batches };
    let mean = Some(Mean { title, weights: vec![1.0] });
    let plan = Plan { mean, batches, ..plan };
    Some(Variation { name: RANDOM, jit: None, plan, bodies: Some(vec![shown]) })
}

/// The time of a syscall of the random sequence, and the changes of the overheads in both measurements.
fn published(runs: &Runs, own: &Plan) -> Published {
    let mut tables = Vec::new();
    if let Some(random) = runs.others.iter().find(|one| one.name == RANDOM) {
        let (samples, runs) = (&random.samples, random.samples.rounds());
        if let Some(times) = Times::of(samples, 0, 0) {
            let title = format!("random mix, ns per syscall, {runs} runs of each filter");
            tables.push(overheads("mix", title, &random.plan, &times));
            let title = format!("random mix, change of the overhead, {runs} runs of each filter");
            tables.extend(changes("mix_change", title, &random.plan, samples, &times));
        }
    }
    let weights = own.mean.as_ref().map_or(&[][..], |mean| &mean.weights);
    if let Some(times) = Times::of_mean(&runs.own, 0, weights) {
        let runs_of_each = format!("{} runs of each filter", runs.own.rounds());
        let title = format!("weighted mean of loops, ns per syscall, {runs_of_each}");
        tables.push(overheads("mean", title, own, &times));
        let title = format!("weighted mean of loops, change of the overhead, {runs_of_each}");
        tables.extend(changes("mean_change", title, own, &runs.own, &times));
    }
    Published { tables, ..Published::default() }
}

/// The time of each subject, and its overheads.
fn overheads(key: &'static str, title: String, plan: &Plan, times: &Times) -> PublishedTable {
    let columns = [("ns", 1), ("over no filter", 1), ("over constant allow", 1)];
    let mut table = PublishedTable::new(key, title, &columns);
    for (subject, name) in plan.subjects.iter().map(|subject| &subject.name).enumerate() {
        let over = BASES
            .map(|base| times.figure(|time| time(subject) - time(base)).filter(|_| subject > base));
        table.row(name.as_str(), [times.time(subject)].into_iter().chain(over));
    }
    table
}

/// The change of the overhead from one filter to another, in percent, and that of the executed instructions. `None` if there is
/// one filter only.
fn changes(
    key: &'static str,
    title: String,
    plan: &Plan,
    samples: &Samples,
    times: &Times,
) -> Option<PublishedTable> {
    let columns = [
        ("over no filter %", 1),
        ("over constant allow %", 1),
        ("instructions, cached %", 1),
        ("uncached %", 1),
    ];
    let mut table = PublishedTable::new(key, title, &columns);
    // In the order of the pairs, two of each: over both baselines.
    let all = aggregates(plan, samples, FIRST);
    let pairs = pairs(FIRST, plan.subjects.len());
    for ((before, after), of_bases) in pairs.into_iter().zip(all.chunks(BASES.len())) {
        let [first, ..] = of_bases else { continue };
        let change = of_bases.iter().zip(BASES).map(|(one, base)| match one.change {
            None => Some(Figure::NotResolved),
            Some(_) => {
                let change = |time: &dyn Fn(usize) -> f64| {
                    ((time(after) - time(base)) / (time(before) - time(base)) - 1.0) * 100.0
                };
                times.figure(change).map(Figure::from)
            }
        });
        let executed = [first.executed, first.executed_uncached];
        let executed = executed.map(|change| change.map(|share| Figure::Exact(share * 100.0)));
        let label = format!("{} instead of {}", first.after, first.before);
        table.row(label, change.chain(executed));
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_is_complete_and_harmless() {
        let rows: Vec<_> =
            GVISOR_POSTGRES.lines().filter(|line| !line.starts_with('#')).map(row).collect();
        assert_eq!(rows.len(), 25);
        let sum: f64 = rows.iter().flatten().map(|(_, count, _)| count).sum();
        assert_eq!(sum, 1_552_184.0, "the published total of 1,552,214 has more rows");
        let shares = shares(GVISOR_POSTGRES);
        // rt_sigreturn needs x86-64.
        let expected = if cfg!(target_arch = "x86_64") { 25 } else { 24 };
        assert_eq!(shares.len(), expected);
        let futex = shares.iter().find(|(call, _)| call.name == "futex").unwrap();
        assert!((futex.1 - 0.56).abs() < 0.005, "{}", futex.1);
        let sendmmsg = shares.iter().find(|(call, _)| call.name == "sendmmsg").unwrap();
        assert_eq!(sendmmsg.0.args(), [3, 0, 0, 0x40, 0, 0]);
    }
}
