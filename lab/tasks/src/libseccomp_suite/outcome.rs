//! The results of tests.

use std::ops::AddAssign;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// The result is not the expected one.
    Failed(String),
    /// There is no result.
    Errored(String),
    Skipped(String),
}

/// A case and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// The number of the case in its line, from 1. It starts again with every architecture.
    pub(super) number: usize,
    /// The architecture and the syscall, if the case has them.
    pub(super) what: String,
    pub(super) outcome: Outcome,
}

impl Case {
    /// The only case of a line.
    pub(super) fn single(outcome: Outcome) -> Case {
        Case { number: 1, what: String::new(), outcome }
    }
}

/// The number of cases with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) errored: usize,
    pub(super) skipped: usize,
}

impl Tally {
    pub(super) fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Tally {
        let mut tally = Tally::default();
        for case in cases {
            *match case.outcome {
                Outcome::Passed => &mut tally.passed,
                Outcome::Failed(_) => &mut tally.failed,
                Outcome::Errored(_) => &mut tally.errored,
                Outcome::Skipped(_) => &mut tally.skipped,
            } += 1;
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.errored += other.errored;
        self.skipped += other.skipped;
    }
}
