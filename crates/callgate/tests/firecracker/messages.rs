//! Invalid documents: the exact messages and positions.

use crate::firecracker::support::{document, errors};

#[test]
fn every_error_about_an_entry_has_a_position_and_help() {
    for (entry, expected) in [
        (r#"{"syscall": "raed"}"#, "1:85: x86_64 has no syscall `raed` (did you mean `read`?)"),
        (
            r#"{"syscall": "sync_file_range2"}"#,
            "1:85: x86_64 has no syscall `sync_file_range2` (it exists on other architectures; write a document for each architecture)",
        ),
        (
            r#"{"syscall": "qqqqqqqqqqq"}"#,
            "1:85: x86_64 has no syscall `qqqqqqqqqqq` (use a name as in syscalls(2))",
        ),
        (
            r#"{"args": null}"#,
            "1:73: missing `syscall` in an entry of `filter` (name the syscall, such as \"syscall\": \"read\")",
        ),
        (r#"{"syscall": 0}"#, "1:85: `syscall` must be a string, but is the number 0 ()"),
        (
            r#""read""#,
            "1:73: an entry of `filter` must be an object, but is the string \"read\" ()",
        ),
        (
            r#"{"syscall": "read", "arg": []}"#,
            "1:93: unknown key `arg` in an entry of `filter` (did you mean `args`?)",
        ),
        (
            r#"{"Syscall": "read", "syscall": "read"}"#,
            "1:74: unknown key `Syscall` in an entry of `filter` (did you mean `syscall`?)",
        ),
        (
            r#"{"syscall": "read", "syscall": "read"}"#,
            "1:93: `syscall` is given twice, first at 1:74 (remove one: parsers disagree on which of the two counts)",
        ),
        (
            r#"{"syscall": "read", "comment": 1}"#,
            "1:104: `comment` must be a string, but is the number 1 ()",
        ),
        (
            r#"{"syscall": "read", "args": []}"#,
            "1:101: `args` is empty, but must have at least one condition (seccompiler rejects this; remove `args` if all calls are meant)",
        ),
        (r#"{"syscall": "read", "args": {}}"#, "1:101: `args` must be a list, but is an object ()"),
    ] {
        assert_eq!(errors(&document(entry)), expected, "{entry}");
    }
}

#[test]
fn every_error_about_a_condition_has_a_position_and_help() {
    for (condition, expected) in [
        (
            r#"{}"#,
            "1:102: missing `index` in a condition of `args` (write a number, such as \"index\": 1)\n\
             1:102: missing `type` in a condition of `args` (write \"type\": \"dword\" for 32 bits, \"qword\" for 64)\n\
             1:102: missing `op` in a condition of `args` (write an operator, such as \"op\": \"eq\")\n\
             1:102: missing `val` in a condition of `args` (write a number, such as \"val\": 1)",
        ),
        (
            r#"{"index": 6, "type": "dword", "op": "eq", "val": 1}"#,
            "1:112: `index` is 6, but must be an integer from 0 to 5 ()",
        ),
        (
            r#"{"index": 0, "type": "word", "op": "eq", "val": 1}"#,
            "1:123: `type` is unknown: `word` (did you mean `dword`?)",
        ),
        (
            r#"{"index": 0, "type": 32, "op": "eq", "val": 1}"#,
            "1:123: `type` must be a string or an object, but is the number 32 ()",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": "==", "val": 1}"#,
            "1:138: `op` is unknown: `==` (write one of \"eq\", \"ne\", \"lt\", \"le\", \"gt\", \"ge\", {\"masked_eq\": number})",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": "masked_eq", "val": 1}"#,
            "1:138: `masked_eq` needs a number (write {\"masked_eq\": 1})",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": {"eq": 1}, "val": 1}"#,
            "1:145: `eq` does not take a value (write \"eq\")",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": {}, "val": 1}"#,
            "1:138: `op` must have one member, but has 0 (write one of \"eq\", \"ne\", \"lt\", \"le\", \"gt\", \"ge\", {\"masked_eq\": number})",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": {"masked_eq": "1"}, "val": 1}"#,
            "1:152: the mask must be an integer, but is the string \"1\" ()",
        ),
        (
            r#"{"index": 0, "type": "dword", "op": "eq", "val": -1}"#,
            "1:151: `val` is -1, but must be an integer from 0 to 18446744073709551615 (arguments are unsigned; write 18446744073709551615 for -1)",
        ),
    ] {
        let entry = format!(r#"{{"syscall": "read", "args": [{condition}]}}"#);
        assert_eq!(errors(&document(&entry)), expected, "{condition}");
    }
}

#[test]
fn every_error_about_a_document_has_a_position_and_help() {
    for (text, expected) in [
        ("[]", "1:1: the document must be an object with a filter per thread, but is a list ()"),
        (
            "{}",
            "1:1: the document has no filters (add a filter: {\"main\": {\"mismatch_action\": …, \"match_action\": …, \"filter\": […]}})",
        ),
        (r#"{"t": []}"#, "1:7: the filter of a thread must be an object, but is a list ()"),
        (
            r#"{"t": {}}"#,
            "1:7: missing `mismatch_action` in the filter of a thread (give an action, such as \"mismatch_action\": \"trap\")\n\
             1:7: missing `match_action` in the filter of a thread (give an action, such as \"match_action\": \"allow\")\n\
             1:7: missing `filter` in the filter of a thread (add the list of syscalls: \"filter\": [{\"syscall\": \"read\"}])",
        ),
        (
            r#"{"t": {"mismatch_action": "allow", "match_action": "allow", "filter": []}}"#,
            "1:52: the actions for syscalls that match and that do not are equal (seccompiler rejects this; use two different actions)",
        ),
        (
            r#"{"t": {"mismatch_action": {"errno": 1}, "default_action": "trap", "match_action": "allow", "filter": []}}"#,
            "1:59: `mismatch_action` and `default_action` are two names of the same action (remove one of them)",
        ),
        (
            r#"{"t": {"mismatch_action": "Allow", "match_action": "kill", "filter": []}}"#,
            "1:27: `mismatch_action` is unknown: `Allow` (did you mean `allow`?)\n\
             1:52: `match_action` is unknown: `kill` (write one of \"allow\", {\"errno\": number}, \"kill_thread\", \"kill_process\", \"log\", {\"trace\": number}, \"trap\", \"user_notif\")",
        ),
        (
            r#"{"t": {"mismatch_action": {"errno": 4294967296}, "match_action": "errno", "filter": []}}"#,
            "1:37: `errno` is 4294967296, but must be an integer from 0 to 4294967295 ()\n\
             1:66: `errno` needs a number (write {\"errno\": 1})",
        ),
        (
            r#"{"t": {"mismatch_action": "trap", "match_action": "allow", "filter": {}}}"#,
            "1:70: `filter` must be a list, but is an object ()",
        ),
    ] {
        assert_eq!(errors(text), expected, "{text}");
    }
    let twice = document("").replace("}}", "},\n\"vmm\": null}");
    assert_eq!(
        errors(&twice),
        "2:1: the thread `vmm` has two filters, the first at 1:2 (remove one of them)"
    );
}
