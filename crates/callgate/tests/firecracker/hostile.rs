//! Documents that are designed to be expensive get an answer, or an error with the limit.

use callgate::Arch;
use callgate_formats::firecracker::{self, ReadOptions};
use callgate_testing::hostile::{self, damage, fill};

use crate::firecracker::support::document;

fn answer(text: &str) -> String {
    hostile::answer(firecracker::read(text, &ReadOptions::new(Arch::X86_64)))
}

fn condition(value: usize) -> String {
    format!(r#"{{"index": 1, "type": "qword", "op": "ne", "val": {value}}}"#)
}

#[test]
fn expensive_documents_get_an_answer() {
    let size = 300_000;
    for (name, text, expected) in [
        ("entries", document(&fill(size, ",", |_| r#"{"syscall": "read"}"#.to_owned())), "read"),
        (
            "conditions of one entry",
            document(&format!(
                r#"{{"syscall": "ioctl", "args": [{}]}}"#,
                fill(size, ",", condition)
            )),
            "read",
        ),
        (
            "entries with conditions",
            document(&fill(size, ",", |n| {
                format!(r#"{{"syscall": "ioctl", "args": [{}]}}"#, condition(n))
            })),
            "read",
        ),
        (
            "unknown syscalls",
            document(&fill(size, ",", |n| format!(r#"{{"syscall": "x{n}"}}"#))),
            "x86_64 has no syscall `x0`",
        ),
        (
            "unknown keys",
            document(&fill(size, ",", |n| format!(r#"{{"syscall": "read", "x{n}": 1}}"#))),
            "unknown key `x0` in an entry of `filter`",
        ),
        (
            "threads",
            format!("{{{}}}", fill(size, ",", |n| format!(r#""t{n}": {{"filter": []}}"#))),
            "missing `mismatch_action` in the filter of a thread",
        ),
        (
            "one thread again and again",
            format!("{{{}}}", fill(size, ",", |_| r#""t": null"#.to_owned())),
            "the filter of a thread must be an object, but is null",
        ),
        (
            "a long name",
            document(&format!(r#"{{"syscall": "{}"}}"#, "x".repeat(size))),
            "x86_64 has no",
        ),
    ] {
        let answer = answer(&text);
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
}

#[test]
fn the_number_of_conditions_is_limited() {
    let conditions = (0..=150_000).map(condition).collect::<Vec<_>>().join(",");
    let text = document(&format!(r#"{{"syscall": "ioctl", "args": [{conditions}]}}"#));
    assert_eq!(answer(&text), "the filter has 150001 conditions; the limit is 150000");
}

/// Any part of a valid document, and a document with any byte changed, gets an answer.
#[test]
fn damaged_documents_get_an_answer() {
    let text = document(
        r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": {"masked_eq": 3}, "val": 1}]}"#,
    );
    let replacements = &["", "{", "}", "[", "]", "0", "-", "\"", ",", ":", "null", "\u{e9}"];
    damage(&text, replacements, answer);
}
