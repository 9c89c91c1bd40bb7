//! What the architectures of a policy share while names are resolved: messages that were given, and the size so far.

use std::collections::HashSet;

use super::evaluate::Stop;
use crate::included::{Place, Span};
use callgate_core::policy::Condition;
use callgate_core::template::VariableList;

/// The maximum number of tests in all conditions. A comparison of six arguments with each other has up to 2,000.
const MAX_TESTS: usize = 1_000_000;

/// What was done for all architectures so far.
#[derive(Default)]
pub(super) struct Progress {
    /// Places and kinds of messages, which are given once, not per architecture.
    pub(super) warned: HashSet<(Place, &'static str)>,
    /// The variables of all architectures.
    pub(super) variables: VariableList,
    /// The tests of all conditions.
    tests: usize,
}

impl Progress {
    /// Counts the tests of a comparison.
    pub(super) fn count(&mut self, at: Span, condition: &Condition) -> Result<(), Stop> {
        let mut tests = 0;
        condition.for_each_test(&mut |_| tests += 1);
        self.count_tests(at, tests)
    }

    /// Counts this number of tests.
    pub(super) fn count_tests(&mut self, at: Span, tests: usize) -> Result<(), Stop> {
        self.tests += tests;
        if !self.is_full() {
            return Ok(());
        }
        Err(Stop {
            at,
            message: format!("the comparisons have more than {MAX_TESTS} tests of arguments"),
            help: "compare fewer arguments with each other, or give fewer architectures".to_owned(),
        })
    }

    /// Whether the limit is exceeded, so that no more conditions are made.
    pub(super) fn is_full(&self) -> bool {
        self.tests > MAX_TESTS
    }
}
