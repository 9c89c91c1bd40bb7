//! What is measured by both: a body of an experiment, and the same in C.

use callgate_experiments::experiment::Experiment;

/// A body of an experiment.
pub(super) struct Case {
    pub(super) experiment: Experiment,
    /// What is repeated, for people.
    pub(super) what: &'static str,
    /// The index of the body in the plan of the experiment.
    pub(super) body: usize,
    /// The index of the subject over which the experiment states the overheads.
    pub(super) base: usize,
    pub(super) c: CBody,
}

/// A body of the program in C.
pub(super) struct CBody {
    pub(super) name: &'static str,
    pub(super) threads: u32,
    pub(super) batches: u32,
    /// Of all threads together, in a batch, which takes about a millisecond without a filter.
    pub(super) iterations: u32,
}

pub(super) const CASES: [Case; 4] = [
    Case {
        experiment: Experiment::UnixbenchSyscall,
        what: "a turn of the loop",
        body: 0,
        base: 0,
        c: CBody { name: "unixbench", threads: 1, batches: 3, iterations: 1000 },
    },
    Case {
        experiment: Experiment::Getpid,
        what: "getpid",
        body: 0,
        base: 0,
        c: CBody { name: "getpid", threads: 1, batches: 3, iterations: 10_000 },
    },
    Case {
        experiment: Experiment::CondWait,
        what: "a futex that wakes no thread",
        body: 1,
        base: 0,
        c: CBody { name: "futex", threads: 1, batches: 3, iterations: 5000 },
    },
    Case {
        experiment: Experiment::CondWait,
        what: "a wait, over the all-allow filter",
        body: 0,
        base: 1,
        c: CBody { name: "wait", threads: 256, batches: 3, iterations: 5 * 256 },
    },
];
