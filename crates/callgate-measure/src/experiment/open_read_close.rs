//! `/dev/zero` opened, read and closed, 100,000 times in each of 100 runs, with and without a filter of 23
//! syscalls (2017); suitable for box plots.
//!
//! A run is a process. Since Linux 5.11 the kernel's cache would answer the published filter, so it is measured
//! twice: unchanged, and with rules that inspect an argument of the three syscalls.

use super::error::ExperimentError;
use super::setup::{Options, Setup, allowing, compiled, numbers, overhead};
use crate::body::Body;
use crate::libseccomp;
use crate::measure::{Plan, Samples};
use crate::report::{Finding, Shown};
use crate::subject::Subject;
use crate::worker::Batches;

const SYSCALLS: [&str; 23] = [
    "access",
    "arch_prctl",
    "brk",
    "clone",
    "dup2",
    "execve",
    "exit",
    "exit_group",
    "fcntl",
    "fstat",
    "getdents64",
    "getpid",
    "ioctl",
    "lseek",
    "mmap",
    "mprotect",
    "munmap",
    "rt_sigaction",
    "wait4",
    "write",
    "read",
    "openat",
    "close",
];

const INSPECTED: [&str; 3] = ["read", "openat", "close"];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let plain = allowing(&numbers(&SYSCALLS)?, &[])?;
    let inspecting = allowing(&numbers(&SYSCALLS)?, &numbers(&INSPECTED)?)?;
    let subjects = vec![
        Subject::none(),
        Subject::new("libseccomp", [libseccomp::list(&plain)?])?,
        Subject::new("libseccomp, inspecting", [libseccomp::list(&inspecting)?])?,
        Subject::new("Callgate, inspecting", [compiled(&inspecting)?])?,
    ];
    let plan = options.plan(subjects, vec![Body::OpenReadClose], 18);
    let batches = Batches { count: 100, iterations: 1000, ..plan.batches };
    let title = "open, read and close /dev/zero: one turn".to_owned();
    Ok(Setup {
        title: "open, read, close: runs of 100,000".to_owned(),
        plan: Plan { batches, min_rounds: 5, max_rounds: 100, ..plan },
        bodies: vec![Shown { title, treatments: Vec::new(), is_claimed: true }],
        findings,
    })
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let share = |subject| {
        let none = samples.estimate(0, 0)?.median;
        Some(overhead(samples, subject, 0)? / none * 100.0)
    };
    let texts = [
        ("cached_percent", "libseccomp's list, answered by the cache, over no filter", share(1)),
        ("list_percent", "libseccomp's list that inspects arguments, over no filter", share(2)),
        ("compiled_percent", "Callgate's program for the same rules, over no filter", share(3)),
    ];
    let findings = texts
        .into_iter()
        .map(|(key, text, value)| Some(Finding::new(key, text, value?, "% slower")));
    findings.flatten().collect()
}
