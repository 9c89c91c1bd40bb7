//! What the tests of several binaries share.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use callgate_record::{RecordError, RecordMethod};
use callgate_testing::{Need, Skip, TestResult};

/// Runs a test that changes state of the whole process: once per method, one after the other.
#[allow(dead_code)]
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

/// The machine does not permit this method. Every other error is a defect, for example a program that the verifier
/// refuses.
pub(crate) fn impossible(method: RecordMethod, why: &RecordError) -> Skip {
    let why = why.to_string();
    let machine =
        ["not permitted", "Permission denied", "vmlinux", "only x86-64", "not implemented"];
    let is_known = machine.iter().any(|reason| why.contains(reason)) && !why.contains('(');
    assert!(is_known || why.starts_with("seccomp notifications cannot be used here"), "{why}");
    let need = match method {
        RecordMethod::Tracepoint => Need::Bpf,
        RecordMethod::Listener => Need::Listener,
        RecordMethod::Stops => Need::Ptrace,
    };
    Skip::new(need, why)
}
