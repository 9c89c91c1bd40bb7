//! Which errors mean that the machine does not permit a method.

use callgate_record::{RecordError, RecordMethod};
use callgate_testing::{Need, Skip};

/// The machine does not permit this method. Every other error is a defect, for example a program that the verifier
/// refuses.
pub(crate) fn impossible(method: RecordMethod, why: &RecordError) -> Skip {
    let why = why.to_string();
    let machine = [
        "not permitted",
        "Permission denied",
        "vmlinux",
        "only x86-64",
        "not implemented",
        "initial PID namespace",
    ];
    let is_known = machine.iter().any(|reason| why.contains(reason)) && !why.contains('(');
    assert!(is_known || why.starts_with("seccomp notifications cannot be used here"), "{why}");
    let need = match method {
        RecordMethod::Tracepoint => Need::Bpf,
        RecordMethod::Listener => Need::Listener,
        RecordMethod::Stops => Need::Ptrace,
    };
    Skip::new(need, why)
}
