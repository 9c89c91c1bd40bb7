//! Invalid documents: the exact messages and positions.

use callgate_testing::reader::expect_messages;

use crate::firecracker::support::{document, errors};

/// Entries of a filter, and the errors about them.
const ENTRIES: &str = r#"
{"syscall": "raed"}
    1:85: x86_64 has no syscall `raed` (did you mean `read`?)
{"syscall": "sync_file_range2"}
    1:85: x86_64 has no syscall `sync_file_range2` (it exists on other architectures; write a document for each architecture)
{"syscall": "qqqqqqqqqqq"}
    1:85: x86_64 has no syscall `qqqqqqqqqqq` (use a name as in syscalls(2))
{"args": null}
    1:73: missing `syscall` in an entry of `filter` (name the syscall, such as "syscall": "read")
{"syscall": 0}
    1:85: `syscall` must be a string, but is the number 0 ()
""read""
    1:73: an entry of `filter` must be an object, but is the string "read" ()
{"syscall": "read", "arg": []}
    1:93: unknown key `arg` in an entry of `filter` (did you mean `args`?)
{"Syscall": "read", "syscall": "read"}
    1:74: unknown key `Syscall` in an entry of `filter` (did you mean `syscall`?)
{"syscall": "read", "syscall": "read"}
    1:93: `syscall` is given twice, first at 1:74 (remove one: parsers disagree on which of the two counts)
{"syscall": "read", "comment": 1}
    1:104: `comment` must be a string, but is the number 1 ()
{"syscall": "read", "args": []}
    1:101: `args` is empty, but must have at least one condition (seccompiler rejects this; remove `args` if all calls are meant)
{"syscall": "read", "args": {}}
    1:101: `args` must be a list, but is an object ()
"#;

#[test]
fn every_error_about_an_entry_has_a_position_and_help() {
    expect_messages(ENTRIES, |entry| errors(&document(entry)));
}

/// Conditions of an entry, and the errors about them.
const CONDITIONS: &str = r#"
{}
    1:102: missing `index` in a condition of `args` (write a number, such as "index": 1)
    1:102: missing `type` in a condition of `args` (write "type": "dword" for 32 bits, "qword" for 64)
    1:102: missing `op` in a condition of `args` (write an operator, such as "op": "eq")
    1:102: missing `val` in a condition of `args` (write a number, such as "val": 1)
{"index": 6, "type": "dword", "op": "eq", "val": 1}
    1:112: `index` is 6, but must be an integer from 0 to 5 ()
{"index": 0, "type": "word", "op": "eq", "val": 1}
    1:123: `type` is unknown: `word` (did you mean `dword`?)
{"index": 0, "type": 32, "op": "eq", "val": 1}
    1:123: `type` must be a string or an object, but is the number 32 ()
{"index": 0, "type": "dword", "op": "==", "val": 1}
    1:138: `op` is unknown: `==` (write one of "eq", "ne", "lt", "le", "gt", "ge", {"masked_eq": number})
{"index": 0, "type": "dword", "op": "masked_eq", "val": 1}
    1:138: `masked_eq` needs a number (write {"masked_eq": 1})
{"index": 0, "type": "dword", "op": {"eq": 1}, "val": 1}
    1:145: `eq` does not take a value (write "eq")
{"index": 0, "type": "dword", "op": {}, "val": 1}
    1:138: `op` must have one member, but has 0 (write one of "eq", "ne", "lt", "le", "gt", "ge", {"masked_eq": number})
{"index": 0, "type": "dword", "op": {"masked_eq": "1"}, "val": 1}
    1:152: the mask must be an integer, but is the string "1" ()
{"index": 0, "type": "dword", "op": "eq", "val": -1}
    1:151: `val` is -1, but must be an integer from 0 to 18446744073709551615 (arguments are unsigned; write 18446744073709551615 for -1)
"#;

#[test]
fn every_error_about_a_condition_has_a_position_and_help() {
    expect_messages(CONDITIONS, |condition| {
        errors(&document(&format!(r#"{{"syscall": "read", "args": [{condition}]}}"#)))
    });
}

/// Documents, and the errors about them.
const DOCUMENTS: &str = r#"
[]
    1:1: the document must be an object with a filter per thread, but is a list ()
{}
    1:1: the document has no filters (add a filter: {"main": {"mismatch_action": …, "match_action": …, "filter": […]}})
{"t": []}
    1:7: the filter of a thread must be an object, but is a list ()
{"t": {}}
    1:7: missing `mismatch_action` in the filter of a thread (give an action, such as "mismatch_action": "trap")
    1:7: missing `match_action` in the filter of a thread (give an action, such as "match_action": "allow")
    1:7: missing `filter` in the filter of a thread (add the list of syscalls: "filter": [{"syscall": "read"}])
{"t": {"mismatch_action": "allow", "match_action": "allow", "filter": []}}
    1:52: the actions for syscalls that match and that do not are equal (seccompiler rejects this; use two different actions)
{"t": {"mismatch_action": {"errno": 1}, "default_action": "trap", "match_action": "allow", "filter": []}}
    1:59: `mismatch_action` and `default_action` are two names of the same action (remove one of them)
{"t": {"mismatch_action": "Allow", "match_action": "kill", "filter": []}}
    1:27: `mismatch_action` is unknown: `Allow` (did you mean `allow`?)
    1:52: `match_action` is unknown: `kill` (write one of "allow", {"errno": number}, "kill_thread", "kill_process", "log", {"trace": number}, "trap", "user_notif")
{"t": {"mismatch_action": {"errno": 4294967296}, "match_action": "errno", "filter": []}}
    1:37: `errno` is 4294967296, but must be an integer from 0 to 4294967295 ()
    1:66: `errno` needs a number (write {"errno": 1})
{"t": {"mismatch_action": "trap", "match_action": "allow", "filter": {}}}
    1:70: `filter` must be a list, but is an object ()
"#;

#[test]
fn every_error_about_a_document_has_a_position_and_help() {
    expect_messages(DOCUMENTS, errors);
    let twice = document("").replace("}}", "},\n\"vmm\": null}");
    assert_eq!(
        errors(&twice),
        "2:1: the thread `vmm` has two filters, the first at 1:2 (remove one of them)"
    );
}
