//! Documents with several filters.

use callgate::Arch;
use callgate_formats::firecracker::{self, ReadOptions};

use crate::firecracker::support::{errors, errors_for, syscall};

const THREE: &str = r#"{
"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": [{"syscall": "read"}]},
"api": {"mismatch_action": "trap", "match_action": "log", "filter": [{"syscall": "read"}]},
"vcpu": {"mismatch_action": "trap", "match_action": {"errno": 2}, "filter": [{"syscall": "read"}]}}"#;

fn of(thread: &str) -> ReadOptions {
    ReadOptions { thread: Some(thread.to_owned()), ..ReadOptions::new(Arch::X86_64) }
}

#[test]
fn a_thread_is_selected_by_its_name() {
    for (thread, expected) in [("vmm", "ALLOW"), ("api", "LOG"), ("vcpu", "ERRNO(ENOENT)")] {
        let profile = firecracker::read(THREE, &of(thread)).unwrap();
        assert_eq!(syscall(&profile, "read", &[]), expected);
    }
}

#[test]
fn a_missing_or_unknown_thread_is_an_error_with_the_names() {
    assert_eq!(
        errors(THREE),
        "2:8: the document has 3 filters, for the threads vmm, api, vcpu (choose one with the option `thread`, such as \"vmm\")"
    );
    assert_eq!(
        errors_for(THREE, &of("vcpus")),
        "2:8: the document has no filter for the thread `vcpus` (did you mean `vcpu`? The threads are vmm, api, vcpu)"
    );
    let many: Vec<String> = (0..30)
        .map(|n| {
            format!(
                r#""t{n}": {{"mismatch_action": "trap", "match_action": "allow", "filter": []}}"#
            )
        })
        .collect();
    let message = errors(&format!("{{{}}}", many.join(",")));
    assert!(message.contains("30 filters, for the threads t0, t1,"), "{message}");
    assert!(message.contains("t19, … ("), "{message}");
}

/// seccompiler compiles all filters of a document, or none.
#[test]
fn a_mistake_in_another_thread_is_an_error() {
    let text = THREE.replace(
        r#""log", "filter": [{"syscall": "read"}"#,
        r#""log", "filter": [{"syscall": "raed"}"#,
    );
    assert_eq!(
        errors_for(&text, &of("vmm")),
        "3:82: x86_64 has no syscall `raed` (did you mean `read`?)"
    );
}

/// Warnings are about the filter that is read.
#[test]
fn other_threads_have_no_warnings() {
    let text = THREE.replace(r#"{"errno": 2}"#, r#"{"errno": 5000}"#);
    assert!(firecracker::read(&text, &of("api")).unwrap().warnings.is_empty());
    assert_eq!(firecracker::read(&text, &of("vcpu")).unwrap().warnings.len(), 1);
}
