//! UnixBench's "syscall" loop under stacks of a filter of 20 rules.
//!
//! Huawei's measurement of 2020: the loop `close(dup(0))`, getpid, getuid, umask under 0, 1, 4 and 32
//! filters. Here the filter is libseccomp's list. One of its rules inspects the argument of umask, so that the kernel's
//! cache does not answer everything; umask is measured alone as well. Another rule allows seccomp, which installs the next
//! filter. The merged program of the stack is measured, too.

use callgate::Description;
use callgate::stack::{self, Stack};
use callgate::{compile, policy::Policy};

use super::error::ExperimentError;
use super::setup::{Options, Setup, allowing, native, numbers, overhead, shown, syscall};
use crate::body::Body;
use crate::libseccomp;
use crate::measure::Samples;
use crate::report::{Finding, Shown};
use crate::subject::Subject;

/// The syscalls of the filter: those of UnixBench's loop, the one that installs the next filter, and those that a
/// program needs to run.
pub const LIST_OF_20: [&str; 20] = [
    "read",
    "write",
    "openat",
    "close",
    "fstat",
    "seccomp",
    "mmap",
    "mprotect",
    "munmap",
    "brk",
    "rt_sigaction",
    "rt_sigprocmask",
    "ioctl",
    "dup",
    "getpid",
    "getuid",
    "umask",
    "futex",
    "clock_gettime",
    "exit_group",
];

const STACKS: [usize; 3] = [1, 4, 32];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let policy: Policy = allowing(&numbers(&LIST_OF_20)?, &numbers(&["umask"])?)?;
    let list = libseccomp::list(&policy)?;
    let mut subjects = vec![Subject::none()];
    for count in STACKS {
        let name = if count == 1 { "1 filter".to_owned() } else { format!("{count} filters") };
        subjects.push(Subject::new(name, vec![list.clone(); count])?);
    }
    let stack = Stack::new(vec![Description::program(&list, policy.endian()); 32])?;
    let merged = stack::merge(&stack, &[native()?], &compile::Options::default())?;
    subjects.push(Subject::new("the 32 merged", [merged.compiled.program])?);
    let umask = syscall("umask")?;
    let mut bodies = vec![Shown {
        title: "close(dup(0)), getpid, getuid, umask: one turn".to_owned(),
        treatments: Vec::new(),
        is_claimed: true,
    }];
    bodies.extend(shown(&subjects, &[umask]));
    Ok(Setup {
        title: "UnixBench's loop of calls under stacks of a 20-rule list".to_owned(),
        bodies,
        plan: options.plan(subjects, vec![Body::UnixBench, Body::from(umask)], 12),
        findings,
    })
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let turns = |subject| samples.estimate(subject, 0).map(|turn| turn.median);
    let (Some(none), Some(stacked), Some(merged)) = (turns(0), turns(3), turns(4)) else {
        return Vec::new();
    };
    let (Some(many), Some(one)) = (overhead(samples, 3, 1), overhead(samples, 4, 1)) else {
        return Vec::new();
    };
    vec![
        Finding::new(
            "loop_32",
            "the loop under 32 filters, relative to none",
            none / stacked,
            "of the speed",
        ),
        Finding::new(
            "loop_merged",
            "the loop under the 32 merged, relative to none",
            none / merged,
            "of the speed",
        ),
        Finding::new(
            "stack_ratio",
            "umask, never cached: overhead of 32 filters over that of the 32 merged",
            many / one,
            "times",
        ),
    ]
}
