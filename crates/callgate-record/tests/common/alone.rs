//! Tests that must not run beside others in their process.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use callgate_record::RecordMethod;
use callgate_testing::TestResult;

/// Runs a test that changes state of the whole process: once per method, one after the other.
pub(crate) fn run_alone(name: &str, test: fn(RecordMethod) -> TestResult) -> ExitCode {
    static ALONE: Mutex<()> = Mutex::new(());
    let trials = RecordMethod::ALL.map(|method| {
        callgate_testing::test(format!("{name}::{method:?}"), move || {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            test(method)
        })
    });
    callgate_testing::run(trials.into())
}
