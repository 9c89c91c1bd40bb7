//! The weighted mean over the syscalls of a program, under equivalent filters: gVisor's measurement of 2024.
//!
//! The built-in frequencies are the published ones of gVisor's process while a Postgres benchmark runs in it
//! (`mixes/gvisor-postgres.tsv`). The mean has no syscalls that a filter denies, because the kernel skips these. Overheads
//! are compared over no filter and, as published, over the smallest filter.

use super::error::{ExperimentError, ExperimentErrorKind};
use super::runs::Extra;
use super::setup::{Options, Setup, compiled, shown};
use crate::finding::Finding;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::MeasurableSyscall;
use callgate_measure::Subject;
use callgate_measure::{Mean, Plan, Samples};

/// A description in one line.
pub(super) const ABOUT: &str = "weighted mean over the syscalls of a program (2024)";

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
    let plan = options.plan(subjects, bodies, 15);
    // Many syscalls: short processes, because the round is the sampling unit.
    let batches = Batches { count: 5, ..plan.batches };
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: ABOUT.to_owned(),
        bodies: shown,
        plan: Plan { mean: Some(Mean { title, ..mean }), batches, ..plan },
        findings: |_: &Samples| -> Vec<Finding> { Vec::new() },
        extra: Extra::default(),
    })
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
