//! Lists that are designed to be expensive get an answer.

use callgate_formats::android::{self, ListKind};
use callgate_testing::hostile::{Expensive, damage, expect_answers};
use callgate_testing::reader::repeated_lines;

use crate::android::support::{base, list, options};

const LISTS: &[Expensive] = &[
    ("one entry", |size| repeated_lines(size, |_| "read() all".to_owned()), "read"),
    (
        "unknown names",
        |size| repeated_lines(size, |i| format!("x{i}() all")),
        "no architecture has",
    ),
    (
        "unknown architectures",
        |size| repeated_lines(size, |i| format!("read() a{i}")),
        "`a0` is not a bionic architecture",
    ),
    ("architectures", |size| format!("read() all\nclose() arm{}", ",arm".repeat(size / 4)), "read"),
    ("aliases", |size| format!("read|{}() all", "a,".repeat(size / 2)), "read"),
    ("colons", |size| format!("read{}() all", ":".repeat(size)), "a misplaced colon"),
    (
        "parentheses",
        |size| format!("read{}{} all", "(".repeat(size / 2), ")".repeat(size / 2)),
        "read",
    ),
    ("no parentheses", |size| repeated_lines(size, |_| "read".to_owned()), "expected parameters"),
    ("blanks", |size| format!("read() all\n{}", " ".repeat(size)), "read"),
    ("line breaks", |size| format!("read() all{}", "\r\n".repeat(size / 2)), "read"),
    ("one long line", |size| "x".repeat(size), "expected parameters"),
    ("types", |size| format!("{}read() all", "int ".repeat(size / 4)), "read"),
];

fn answer(text: &str, kind: ListKind) -> String {
    let mut lists = vec![list(kind, text)];
    if kind != ListKind::Base {
        lists.insert(0, base("read() all\nrestart_syscall() all\nio_setup() all"));
    }
    match android::read(&lists, &options()) {
        Ok(_) => "read".to_owned(),
        Err(messages) => messages[0].diagnostic.message.clone(),
    }
}

#[test]
fn expensive_lists_get_an_answer() {
    expect_answers(LISTS, 200_000, |text| answer(text, ListKind::Base));
}

#[test]
fn expensive_lists_of_priorities_get_an_answer() {
    for text in [
        repeated_lines(200_000, |_| "read".to_owned()),
        repeated_lines(200_000, |i| format!("x{i}")),
        repeated_lines(200_000, |i| format!("x {i}")),
        "x".repeat(200_000),
    ] {
        assert_eq!(answer(&text, ListKind::Priority), "read");
    }
}

#[test]
fn messages_are_limited() {
    let text = repeated_lines(200_000, |i| format!("x{i}() all"));
    let errors = android::read(&[base(&text)], &options()).unwrap_err();
    assert_eq!(errors.len(), 501);
    let last = &errors[500].diagnostic.message;
    assert!(last.ends_with("more errors are left out"), "{last}");
}

/// Any part of a valid list, and a list with any byte changed, gets an answer.
#[test]
fn damaged_lists_get_an_answer() {
    let text = "# c\nint __read|a,b:read(int, void*) all\nlong s:socketcall:3() x86\nint t:__ARM_NR_set_tls() arm,lp64\n";
    for kind in [ListKind::Base, ListKind::Allow, ListKind::Block, ListKind::Priority] {
        let replacements =
            &["", ":", "|", "(", ")", ",", "\n", " ", "#", "\0", "\u{e9}", "\u{2003}"];
        damage(text, replacements, |text| answer(text, kind));
    }
}
