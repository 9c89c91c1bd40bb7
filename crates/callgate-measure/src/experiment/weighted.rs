//! The weighted mean over the syscalls of a program, under equivalent filters: gVisor's measurement of 2024. Its table for
//! PostgreSQL is not included; give it with `--weights`.
//!
//! The default weights are our own: a database server that waits, reads and writes.

use super::error::ExperimentError;
use super::runs::Extra;
use super::setup::{Options, Setup, compiled, shown};
use crate::body::Body;
use crate::libseccomp;
use crate::measure::{Mean, Plan, Samples};
use crate::report::Finding;
use crate::subject::Subject;
use crate::syscalls::MeasurableSyscall;

/// A description in one line.
pub(super) const ABOUT: &str = "weighted mean over the syscalls of a program (2024)";

/// In percent.
const SERVER: [(&str, f64); 12] = [
    ("futex", 38.0),
    ("epoll_pwait", 14.0),
    ("recvfrom", 12.0),
    ("sendto", 12.0),
    ("pread64", 8.0),
    ("pwrite64", 6.0),
    ("lseek", 4.0),
    ("fdatasync", 2.0),
    ("close", 1.5),
    ("openat", 1.5),
    ("socket", 0.6),
    ("clone", 0.4),
];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let mut subjects = vec![Subject::none()];
    if options.subjects.is_empty() {
        let policy = &options.policy;
        subjects.push(Subject::new("libseccomp, list", [libseccomp::list(policy)?])?);
        subjects.push(Subject::new("libseccomp, tree", [libseccomp::tree(policy)?])?);
        subjects.push(Subject::new("Callgate", [compiled(policy)?])?);
    } else {
        subjects.extend(options.subjects.iter().cloned());
    }
    let mut weights = options.weights.clone();
    if weights.is_empty() {
        let known = SERVER
            .iter()
            .filter_map(|(name, share)| Some((MeasurableSyscall::find(name)?, *share)));
        weights = known.collect();
    }
    let (syscalls, weights): (Vec<MeasurableSyscall>, Vec<f64>) = weights.into_iter().unzip();
    let bodies = syscalls.iter().copied().map(Body::from).collect();
    let title = "the weighted mean of these syscalls".to_owned();
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: ABOUT.to_owned(),
        bodies: shown(&subjects, &syscalls),
        plan: Plan { mean: Some(Mean { title, weights }), ..options.plan(subjects, bodies, 15) },
        findings: |_: &Samples| -> Vec<Finding> { Vec::new() },
        extra: Extra::default(),
    })
}
