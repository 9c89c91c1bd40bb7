//! What `callgate check --baseline --format json` prints is what `docs/schemas/check-baseline.json` describes.

use std::io::Write;
use std::process::{Command, Stdio};

use callgate_testing::TestResult;
use serde_json::{Value, json};

use crate::schema::must_match;

/// A recording of one run with these syscalls.
fn recording(syscalls: &Value) -> Value {
    let runs = json!([{"how": "ptrace", "labels": {"node": "a\u{1b}\"b"}}]);
    json!({"callgate": "recording", "version": 1, "runs": runs, "calls": syscalls})
}

/// The exit status, and the parsed result of the comparison.
fn compare(old: &Value, new: &[Value]) -> (Option<i32>, Value) {
    let directory = std::env::temp_dir().join(format!("callgate-baseline-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("old.json");
    std::fs::write(&path, old.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["check", "--format", "json", "--baseline"])
        .args([path.as_os_str(), "-".as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = command.stdin.take().unwrap();
    new.iter().for_each(|one| writeln!(input, "{one}").unwrap());
    drop(input);
    let output = command.wait_with_output().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), serde_json::from_str(&text).unwrap())
}

fn comparisons_match_the_schema() -> TestResult {
    let read = json!({"arch": "x86_64", "name": "read", "count": 1});
    let socket =
        |values: &Value| json!({"arch": "x86_64", "name": "socket", "count": 99, "args": [values]});
    let unknown = json!({"arch": "aarch64", "nr": 9999, "count": 1});
    let listed = socket(&json!({"values": ["0x1"]}));
    let many = json!({"min": "0x0", "max": "0x3f", "ever": "0x3f", "always": "0x0"});
    let old = recording(&json!([read, listed]));

    let (status, value) = compare(&old, std::slice::from_ref(&old));
    must_match("check-baseline.json", &value);
    assert_eq!((status, &value["appeared"]), (Some(0), &json!([])));

    let news = [recording(&json!([unknown, socket(&many)])), recording(&json!([listed]))];
    let (status, value) = compare(&old, &news);
    must_match("check-baseline.json", &value);
    assert_eq!(status, Some(1));
    let appeared = value["appeared"].as_array().unwrap();
    assert_eq!(appeared.len(), 2);
    assert!(appeared.iter().any(|one| one["call"].is_null() && one["nr"] == 9999));
    assert!(appeared.iter().any(|one| one["name"] == "family" && one["chance"].is_null()));
    assert_eq!(value["disappeared"][0]["call"], "read");
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![comparisons_match_the_schema]
}
