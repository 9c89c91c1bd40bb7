//! Invalid profiles: the exact messages and positions.

use callgate::Arch;
use callgate_formats::oci::{self, Dialect};
use callgate_testing::reader::expect_messages;

use crate::oci::support::{entry, lines, messages, options, text};

/// Texts, and the messages of Docker.
const DOCUMENTS: &str = r#"
""
    the text is empty; expected a JSON object (give a seccomp profile, for example {"defaultAction": …, "syscalls": […]})
[]
    1:1: a profile must be an object, but this is a list (give a seccomp profile, an OCI config.json or a SeccompProfile resource)
{}
    1:1: an empty profile means no filter: every syscall would be allowed (give `defaultAction` and `syscalls`)
{"syscalls": null}
    1:1: an empty profile means no filter: every syscall would be allowed (give `defaultAction` and `syscalls`)
"{"defaultAction": "SCMP_ACT_ERRNO",\n "syscalls": [{"names": ["a"
    2:26: the string that starts here is not closed (the text is truncated; check that the file is complete)
{"defaultAction": 5, "syscalls": {}, "flags": "x"}
    1:19: `defaultAction` must be a string, but is the number 5 ()
    1:34: `syscalls` must be a list, but is an object ()
    1:47: `flags` must be a list, but is the string "x" ()
{"flags": ["TSYNC"], "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}
    1:12: unknown filter flag "TSYNC" (the flags are SECCOMP_FILTER_FLAG_TSYNC, _LOG, _SPEC_ALLOW and _WAIT_KILLABLE_RECV)
{"defaultErrnoRet": 5000, "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}
    1:21: `defaultErrnoRet` is 5000, but must be an integer from 0 to 4095 ()
"{"syscalls": [\n  {"names": [], "action": "ALLOW"},\n  5],\n "defaultAction": "SCMP_ACT_KIL"}"
    2:13: `names` is empty, but must name at least one syscall (name a syscall, or remove the entry)
    2:27: `action` is "ALLOW", which is not an action (the actions are SCMP_ACT_ALLOW, _ERRNO, _KILL, _KILL_THREAD, _KILL_PROCESS, _TRAP, _TRACE, _LOG and _NOTIFY)
    3:3: an entry of `syscalls` must be an object, but is the number 5 ()
    4:19: `defaultAction` is "SCMP_ACT_KIL", which is not an action (did you mean "SCMP_ACT_KILL"?)
"#;

/// Texts, and the messages of runc.
const RUNTIME_DOCUMENTS: &str = r#"
{"ociVersion": "1.0.2", "linux": {}}
    1:1: missing `linux.seccomp` in this OCI configuration: the container would run without a filter (add `linux.seccomp`, or give a profile)
{"kind": "SeccompProfile"}
    1:1: missing `spec` in this SeccompProfile resource (put the profile into `spec`)
{"defaultAction": "SCMP_ACT_ALLOW"}
    1:1: the profile has no rules: every syscall would get SCMP_ACT_ALLOW (add entries to `syscalls`; if this is intended, add one entry with the default action)
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}
    1:1: the profile has no rules: every syscall would get SCMP_ACT_ALLOW (add entries to `syscalls`; if this is intended, add one entry with the default action)
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": null}
    1:1: the profile has no rules: every syscall would get SCMP_ACT_ALLOW (add entries to `syscalls`; if this is intended, add one entry with the default action)
{"syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}
    1:1: missing `defaultAction` in the profile (give the action for syscalls that no entry names, such as "SCMP_ACT_ERRNO")
{"kind": "SeccompProfile", "spec": {"baseProfileName": "runc-v1.2", "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}}
    1:56: cannot read the base profile `runc-v1.2`: it is not in this document (a base profile may also be another resource in the same text)
{"kind": "SeccompProfile", "spec": {"disabled": true, "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}}
    1:49: this profile is disabled, so there is no filter (remove `disabled`)
{"listenerMetadata": "m", "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["dup"], "action": "SCMP_ACT_ALLOW"}]}
    1:22: `listenerMetadata` is given without `listenerPath` (set `listenerPath` to the listener's socket, or remove the metadata)
"#;

/// The only entry of a profile, which starts at column 50, and the messages of Docker.
const ENTRIES: &str = r#"
7
    1:50: an entry of `syscalls` must be an object, but is the number 7 ()
{"names": "dup", "action": true, "args": {}, "includes": []}
    1:60: `names` must be a list, but is the string "dup" ()
    1:77: `action` must be a string, but is the boolean true ()
    1:91: `args` must be a list, but is an object ()
    1:107: `includes` must be an object, but is a list ()
{"names": [1, "dup", null], "action": "SCMP_ACT_ALLOW"}
    1:61: each item of `names` must be a string, but is the number 1 ()
    1:71: each item of `names` must be a string, but is null ()
{"names": ["dup"], "action": "SCMP_ACT_ALOW"}
    1:79: `action` is "SCMP_ACT_ALOW", which is not an action (did you mean "SCMP_ACT_ALLOW"?)
{"names": ["dup"], "action": "deny"}
    1:79: `action` is "deny", which is not an action (the actions are SCMP_ACT_ALLOW, _ERRNO, _KILL, _KILL_THREAD, _KILL_PROCESS, _TRAP, _TRACE, _LOG and _NOTIFY)
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "=="}]}
    1:137: `op` is "==", which is not a comparison operator (the operators are SCMP_CMP_NE, _LT, _LE, _EQ, _GE, _GT and _MASKED_EQ)
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "value": 1, "index": 6}]}
    1:149: `index` is 6, but must be an integer from 0 to 5 ()
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "index": 0, "value": -1}]}
    1:149: `value` is -1, but must be an integer from 0 to 18446744073709551615 (arguments are unsigned; write 18446744073709551615 for -1)
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "index": 0, "value": 1.5}]}
    1:149: `value` is 1.5, but must be an integer from 0 to 18446744073709551615 ()
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "index": 0, "value": 18446744073709551616}]}
    1:149: `value` is 18446744073709551616, but must be an integer from 0 to 18446744073709551615 ()
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "index": 0, "value": "1"}]}
    1:149: `value` must be an integer, but is the string "1" ()
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "args": [{"op": "SCMP_CMP_EQ", "index": 0}]}
    1:106: missing `value` in an item of `args` (give `index`, `op` and `value`)
{"names": ["dup"], "action": "SCMP_ACT_ERRNO", "errnoRet": 4096}
    1:109: `errnoRet` is 4096, but must be an integer from 0 to 4095 ()
{"names": ["dup"], "action": "SCMP_ACT_ERRNO", "errnoRet": 99999}
    1:109: `errnoRet` is 99999, but must be an integer from 0 to 4095 ()
{"names": ["dup"], "action": "SCMP_ACT_TRACE", "errnoRet": 65536}
    1:109: `errnoRet` is 65536, but must be an integer from 0 to 65535 ()
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "6"}}
    1:123: `minKernel` is "6", but must have the form X.Y, with numbers from 0 to 255 (write a version such as "4.8")
{"action": "SCMP_ACT_ALLOW"}
    1:50: missing `names` in an entry of `syscalls` (name at least one syscall)
{"names": [], "action": "SCMP_ACT_ALLOW"}
    1:60: `names` is empty, but must name at least one syscall (name a syscall, or remove the entry)
{"names": [""], "action": "SCMP_ACT_ALLOW"}
    1:61: the name of a syscall is empty ()
{"names": ["dup"]}
    1:50: missing `action` in an entry of `syscalls` (give the action for these syscalls, such as "SCMP_ACT_ALLOW")
{"names": ["dup"], "name": "dup2", "action": "SCMP_ACT_ALLOW"}
    1:77: an entry must have either `name` or `names`, not both (move the syscall into `names`)
{"names": ["dup"], "action": "SCMP_ACT_ALLOW", "names": ["dup2"]}
    1:97: `names` is given twice, first at 1:51 (remove one: parsers disagree on which of the two counts)
"#;

/// The same for Podman.
const PODMAN_ENTRIES: &str = r#"
{"names": ["dup"], "action": "SCMP_ACT_ERRNO", "errno": "EPREM"}
    1:106: `errno` is "EPREM", which is not an errno from 0 to 4095 (write a name such as "EPERM", or a number in quotes)
{"names": ["dup"], "action": "SCMP_ACT_ERRNO", "errno": "4096"}
    1:106: `errno` is "4096", which is not an errno from 0 to 4095 (write a name such as "EPERM", or a number in quotes)
{"names": ["dup"], "action": "SCMP_ACT_TRACE", "errno": "65536"}
    1:106: `errno` is "65536", which is not an errno from 0 to 65535 (write a name such as "EPERM", or a number in quotes)
"#;

#[test]
fn every_error_has_a_position_and_help() {
    assert_eq!(text("").find(']'), Some(49));
    expect_messages(DOCUMENTS, |given| messages(given, Dialect::Docker));
    expect_messages(RUNTIME_DOCUMENTS, |given| messages(given, Dialect::Runc));
    expect_messages(ENTRIES, |entry| messages(&text(entry), Dialect::Docker));
    expect_messages(PODMAN_ENTRIES, |entry| messages(&text(entry), Dialect::Podman));
}

/// Keys on the path to the profile are checked like those in it.
#[test]
fn repeated_keys_on_the_path_to_the_profile() {
    let profile = text(&entry("dup", "ALLOW", ""));
    let help = "(remove one: parsers disagree on which of the two counts)";
    for (text, at, key, first) in [
        (format!("{{\"spec\": {{}},\n\"spec\": {profile}}}"), "2:1", "spec", "1:2"),
        (format!("{{\"spec\": null,\n\"spec\": {profile}}}"), "2:1", "spec", "1:2"),
        (
            format!("{{\"spec\": {profile},\n\"kind\": null, \"kind\": \"X\"}}"),
            "2:15",
            "kind",
            "2:1",
        ),
        (
            format!("{{\"linux\": {{\"seccomp\": {profile}}},\n\"linux\": {{}}}}"),
            "2:1",
            "linux",
            "1:2",
        ),
        (
            format!("{{\"linux\": {{\"seccomp\": {profile},\n\"seccomp\": null}}}}"),
            "2:1",
            "seccomp",
            "1:12",
        ),
    ] {
        let messages = oci::read(&text, &options(Dialect::Runc)).unwrap_err();
        let expected = format!("Error {at}: `{key}` is given twice, first at {first} {help}\n");
        assert!(lines(&messages).contains(&expected), "{text}\n{}", lines(&messages));
    }
}

#[test]
fn contradictions_about_architectures() {
    let with =
        |member: &str| text(&entry("dup", "ALLOW", "")).replacen('{', &format!("{{{member}, "), 1);
    let native = |text: &str, expected: &str| {
        let mut options = options(Dialect::Docker);
        options.arches = Vec::new();
        let messages = oci::read(text, &options).unwrap_err();
        assert_eq!(lines(&messages), format!("Error {expected}\n"));
    };
    native(
        &with(
            "\"architectures\": [\"SCMP_ARCH_X86\"], \
             \"archMap\": [{\"architecture\": \"SCMP_ARCH_X86_64\"}]",
        ),
        "1:49: a profile must have either `architectures` or `archMap`, not both (remove one of \
         them: Docker and Podman reject the profile)",
    );
    native(
        &with("\"architectures\": [\"SCMP_ARCH_S390X\"]"),
        "1:20: SCMP_ARCH_S390X and the native SCMP_ARCH_X86_64 have different byte orders, so no \
         kernel runs both (name the architectures to compile for explicitly)",
    );
    native(
        &with("\"architectures\": [\"amd64\"]"),
        "1:20: unknown architecture \"amd64\" (write \"SCMP_ARCH_X86_64\")",
    );
    let mut mixed = options(Dialect::Docker);
    mixed.arches = vec![Arch::X86_64, Arch::S390x];
    let messages = oci::read(&text(&entry("dup", "ALLOW", "")), &mixed).unwrap_err();
    assert!(lines(&messages).contains("have different byte orders"));
}

#[test]
fn unknown_names_when_strict() {
    let mut strict = options(Dialect::Docker);
    strict.strict = true;
    let messages = oci::read(&text(&entry("opneat dup", "ALLOW", "")), &strict).unwrap_err();
    assert_eq!(
        lines(&messages),
        "Error 1:61: no architecture has a syscall `opneat` (did you mean `openat`?)\n"
    );
}

#[test]
fn hostile_texts_get_an_answer() {
    let many =
        |item: fn(usize) -> String, count| (0..count).map(item).collect::<Vec<_>>().join(", ");
    // Very many keys, names and conditions.
    let keys = format!("{{{}}}", many(|i| format!("\"k{i}\": 0"), 100_000));
    let messages = oci::read(&keys, &options(Dialect::Docker)).unwrap_err();
    assert_eq!(messages.len(), 503);
    assert_eq!(messages[502].message, "99500 more warnings are left out");
    let names = format!("{{\"names\": [{}]}}", many(|i| format!("\"opena{i}\""), 100_000));
    assert!(oci::read(&text(&names), &options(Dialect::Docker)).is_err());
    let rule = |i| {
        let value =
            format!("\"args\": [{{\"index\": 1, \"op\": \"SCMP_CMP_EQ\", \"value\": {i}}}]");
        entry("ioctl", "ALLOW", &value)
    };
    let profile = oci::read(&text(&many(rule, 20_000)), &options(Dialect::Docker)).unwrap();
    assert_eq!(profile.policy.sections()[0].rules.len(), 20_001);
    let deep = text(&"[".repeat(1_000_000));
    assert!(lines(&oci::read(&deep, &options(Dialect::Docker)).unwrap_err()).contains("512"));
}
