//! Random documents. Most are valid; some have a mistake that seccompiler refuses.

use std::fmt::Write;

use callgate_bpf::random::Rng;

/// Syscalls that all architectures of seccompiler have.
const SYSCALLS: &[&str] =
    &["read", "write", "ioctl", "fcntl", "mmap", "socket", "clone", "madvise", "exit_group"];

/// Without `user_notif`, which is newer than seccompiler 0.5.0.
const ACTIONS: &[&str] = &[
    r#""allow""#,
    r#""trap""#,
    r#""log""#,
    r#""kill_thread""#,
    r#""kill_process""#,
    r#"{"errno": 1}"#,
    r#"{"errno": 38}"#,
    r#"{"errno": 5000}"#,
    r#"{"errno": 65537}"#,
    r#"{"trace": 7}"#,
    r#"{"trace": 4294967295}"#,
    r#"{"allow": null}"#,
];

const OPERATORS: &[&str] = &[
    r#""eq""#,
    r#""ne""#,
    r#""lt""#,
    r#""le""#,
    r#""gt""#,
    r#""ge""#,
    r#"{"masked_eq": 15}"#,
    r#"{"masked_eq": 0}"#,
    r#"{"masked_eq": 4294967295}"#,
    r#"{"masked_eq": 1152921504606847232}"#,
    r#"{"masked_eq": 18446744073709551615}"#,
];

const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "21505",
    "2147483648",
    "4294967295",
    "4294967296",
    "4294967297",
    "1152921504606846976",
    "9223372036854775808",
    "18446744073709551615",
];

/// What makes a document invalid, in the place of an entry.
const MISTAKES: &[&str] = &[
    r#"{"syscall": "read", "args": []}"#,
    r#"{"syscall": "nosuchcall"}"#,
    r#"{"syscall": "read", "arguments": []}"#,
    r#"{"syscall": 1}"#,
    r#"{"args": null}"#,
    r#"{"syscall": "read", "args": [{"index": 6, "type": "dword", "op": "eq", "val": 1}]}"#,
    r#"{"syscall": "read", "args": [{"index": 0, "type": "word", "op": "eq", "val": 1}]}"#,
    r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": "==", "val": 1}]}"#,
    r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": "eq", "val": -1}]}"#,
    r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": "eq"}]}"#,
    r#"{"syscall": "read", "args": [{"index": 0, "type": "dword", "op": "eq", "val": 1.0}]}"#,
    r#"{"syscall": "read", "syscall": "read"}"#,
    r#"{"syscall": "read", "comment": 1}"#,
    r#"{"syscall": "Read"}"#,
];

/// The first thread of a document.
pub(super) const FIRST_THREAD: &str = "t0";

/// Generator of documents.
pub(super) struct Random {
    rng: Rng,
    text: String,
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random { rng: Rng::new(seed), text: String::new() }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit)
    }

    /// The next document.
    pub(super) fn document(&mut self) -> String {
        self.text = "{".to_owned();
        let is_wrong = self.one_in(12);
        let threads = 1 + self.below(3);
        let wrong = self.below(threads);
        for thread in 0..threads {
            let comma = if thread > 0 { "," } else { "" };
            let _ = write!(self.text, "{comma}\n \"t{thread}\": ");
            self.filter(is_wrong && thread == wrong);
        }
        self.text += "}\n";
        std::mem::take(&mut self.text)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn filter(&mut self, is_wrong: bool) {
        let (mismatch, matching) = match self.below(2) {
            0 => ("mismatch_action", "match_action"),
            _ => ("default_action", "filter_action"),
        };
        let default = self.pick(ACTIONS);
        let mut action = self.pick(ACTIONS);
        while action == default || action.contains("allow") && default.contains("allow") {
            action = self.pick(ACTIONS);
        }
        let equal = is_wrong && self.one_in(4);
        let action = if equal { default } else { action };
        let _ = write!(
            self.text,
            "{{\"{mismatch}\": {default}, \"{matching}\": {action}, \"filter\": ["
        );
        let entries = self.below(8);
        for index in 0..entries {
            self.text += if index > 0 { ",\n  " } else { "\n  " };
            self.entry();
        }
        if is_wrong && !equal {
            let mistake = self.pick(MISTAKES);
            let comma = if entries > 0 { "," } else { "" };
            let _ = write!(self.text, "{comma}\n  {mistake}");
        }
        self.text += "]}";
    }

    fn entry(&mut self) {
        let name = self.pick(SYSCALLS);
        let _ = write!(self.text, "{{\"syscall\": \"{name}\"");
        match self.below(8) {
            0 => self.text += ", \"args\": null, \"comment\": \"\"",
            1 | 2 => {}
            _ => self.conditions(),
        }
        self.text.push('}');
    }

    fn conditions(&mut self) {
        self.text += ", \"args\": [";
        // Long rules need jumps that a branch cannot reach.
        let conditions = if self.one_in(40) { 30 + self.below(60) } else { 1 + self.below(3) };
        for index in 0..conditions {
            let comma = if index > 0 { ", " } else { "" };
            let arg = self.below(6);
            let width = self.pick(&["dword", "qword"]);
            // Most conditions of a long rule hold, so that the rule is not empty.
            let operator =
                if conditions > 3 && !self.one_in(4) { "\"ne\"" } else { self.pick(OPERATORS) };
            let value = self.pick(VALUES);
            let _ = write!(
                self.text,
                "{comma}{{\"index\": {arg}, \"type\": \"{width}\", \"op\": {operator}, \"val\": {value}}}"
            );
        }
        self.text.push(']');
    }
}
