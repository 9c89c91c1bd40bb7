//! Profiles of containers in JSON and YAML.

use super::input::{Input, Reader, input, unit};
use std::io::Write;

const RULES: &str = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": ["#;
const NAMES: &str =
    r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"action": "SCMP_ACT_ALLOW", "names": ["#;

/// Larger inputs with six comparisons in each rule are refused at once for their number of comparisons.
const RULES_KIB: u64 = 8_280;

/// A rule for one syscall, with conditions as `(argument, operator, value)`.
fn rule(out: &mut Vec<u8>, name: &str, action: &str, conditions: &[(u64, &str, u64)]) {
    let _ = write!(out, "{{\"names\":[\"{name}\"],\"action\":\"SCMP_ACT_{action}\",\"args\":[");
    for (at, (index, op, value)) in conditions.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ =
            write!(out, "{comma}{{\"index\":{index},\"op\":\"SCMP_CMP_{op}\",\"value\":{value}}}");
    }
    let _ = out.write_all(b"]},");
}

/// An input of rules, the last of which is unconditional.
const fn rules(name: &'static str, head: &'static str, unit: fn(u64, &mut Vec<u8>)) -> Input {
    Input::new(name, head, unit, "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\"}]}")
}

fn mixed_lengths(n: u64, out: &mut Vec<u8>) {
    let conditions: Vec<_> = (0..1 + n % 5).map(|arg| (arg, "EQ", n + arg)).collect();
    rule(out, "ioctl", "ALLOW", &conditions);
}

fn several_actions(n: u64, out: &mut Vec<u8>) {
    let conditions: Vec<_> =
        (0..1 + n % 3).map(|arg| ((n + arg) % 6, "MASKED_EQ", n + arg)).collect();
    rule(out, "ioctl", ["ALLOW", "LOG", "TRAP"][n as usize % 3], &conditions);
}

fn six_comparisons(n: u64, out: &mut Vec<u8>) {
    let conditions: Vec<_> = (0..6).map(|arg| (arg, "NE", (n + 1) * 1000 + arg)).collect();
    rule(out, "ioctl", ["ALLOW", "LOG"][n as usize % 2], &conditions);
}

fn behind_a_multiplexer(n: u64, out: &mut Vec<u8>) {
    rule(out, ["socket", "connect", "bind", "sendto"][n as usize % 4], "ALLOW", &[(1, "EQ", n)]);
}

const X86_RULES: &str =
    r#"{"architectures": ["SCMP_ARCH_X86"], "defaultAction": "SCMP_ACT_ERRNO", "syscalls": ["#;

pub(super) const READERS: &[Reader] = &[
    Reader {
        name: "rules in JSON",
        file: "profile.json",
        beside: &[],
        most: Some(RULES_KIB),
        is_log: false,
        commands: &[
            "compile docker:profile.json --arch x86_64 -o /dev/null",
            "compile oci:profile.json --arch x86_64 -o /dev/null",
        ],
        inputs: &[
            rules("of mixed length for one call", RULES, mixed_lengths),
            rules("with several actions for one call", RULES, several_actions),
            rules("with six comparisons each", RULES, six_comparisons),
            rules("behind a multiplexer", X86_RULES, behind_a_multiplexer),
        ],
    },
    Reader {
        name: "profile in JSON",
        file: "profile.json",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile profile.json -o /dev/null"],
        inputs: &[
            input!("list of zeros", "[0", [",0"], "]"),
            input!("list of empty lists", "[0", [",[]"], "]"),
            input!("lists of lists", "[0", [",[[0]]"], "]"),
            input!("lists that end nowhere", "", ["["], ""),
            input!("one string", "\"", ["abcdefgh"], "\""),
            input!("one string of escapes", "\"", ["\\u00e9"], "\""),
            input!("strings of one escape", "[0", [",\"\\n\""], "]"),
            input!("one number", "", ["1234567890"], ""),
            input!("one key", "{\"", ["abcdefgh"], "\": 1}"),
            input!("many unknown keys", "{\"a\": 0", [",\"k{}\":0", |n| n], "}"),
            input!("one key many times", "{\"a\": 0", [",\"a\":0"], "}"),
            input!("empty keys", "{\"a\": 0", [",\"\":0"], "}"),
            input!("newlines", "{", ["\n"], "}"),
            input!("newlines that end nowhere", "{\"a\": ", ["\r\n"], ""),
            input!("one string that ends nowhere", "{\"a\": \"", ["abcdefgh"], ""),
            input!("comments", "{", ["// c\n"], "}"),
            input!("known names", NAMES, ["\"read\","], "\"write\"]}]}"),
            input!("unknown names", NAMES, ["\"reat{}\",", |n| n], "\"write\"]}]}"),
            input!("names that are numbers", NAMES, ["0,"], "0]}]}"),
            input!("empty rules", RULES, ["{},"], "{}]}"),
            input!(
                "rules for one call",
                RULES,
                [
                    "{{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{{\"index\":0,\"value\":{},\"op\":\"SCMP_CMP_EQ\"}}]}},",
                    |n| n
                ],
                "{}]}"
            ),
            input!(
                "unknown architectures",
                r#"{"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["#,
                ["\"SCMP_ARCH_{}\",", |n| n],
                "\"SCMP_ARCH_X86_64\"]}"
            ),
            input!(
                "unknown capabilities",
                r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["#,
                ["\"CAP_{}\",", |n| n],
                "\"CAP_SYS_ADMIN\"]}}]}"
            ),
        ],
    },
    Reader {
        name: "description of containers",
        file: "inspect.json",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile inspect.json -o /dev/null"],
        inputs: &[
            input!(
                "containers",
                "[{}",
                [",{{\"Name\":\"{}\",\"HostConfig\":{{\"SecurityOpt\":[]}}}}", |n| n],
                "]"
            ),
            input!("options", "[\"seccomp={}\"", [",\"x={}\"", |n| n], "]"),
            input!(
                "names in a profile in a string",
                "[\"seccomp={\\\"defaultAction\\\":\\\"SCMP_ACT_ERRNO\\\",\\\"syscalls\\\":[{\\\"action\\\":\\\"SCMP_ACT_ALLOW\\\",\\\"names\\\":[\\\"read\\\"",
                [",\\\"open{}\\\"", |n| n],
                "]}]}\"]"
            ),
            input!(
                "entries of a ConfigMap",
                "{\"kind\":\"ConfigMap\",\"data\":{\"x\":\"\"",
                [",\"{}\":\"defaultAction\"", |n| n],
                "}}"
            ),
        ],
    },
    Reader {
        name: "profile in YAML",
        file: "profile.yaml",
        beside: &[],
        most: Some(2048),
        is_log: false,
        commands: &["compile profile.yaml -o /dev/null"],
        inputs: &[
            input!(
                "list in brackets",
                "a: [0",
                [",0"],
                "]
"
            ),
            input!("list in brackets that ends nowhere", "a: [0", [",0"], ""),
            input!(
                "pairs in brackets",
                "a: [0",
                [",b: "],
                "]
"
            ),
            input!(
                "keys in braces",
                "a: {b: 0",
                [",b{}: ", |n| n],
                "}
"
            ),
            input!(
                "list",
                "a:
",
                ["- 0
"],
                ""
            ),
            input!(
                "mapping",
                "a:
",
                [
                    " b{}:
",
                    |n| n
                ],
                ""
            ),
            input!(
                "dashes",
                "a:
 ",
                ["- "],
                "0
"
            ),
            input!(
                "anchors",
                "a:
",
                ["- &b 0
"],
                ""
            ),
            input!(
                "comments",
                "",
                ["# c
"],
                "a: 1
"
            ),
            input!(
                "a string of escapes",
                "a: \"",
                ["\n"],
                "\"
"
            ),
            input!(
                "a block of text",
                "a: |
",
                [" b
"],
                ""
            ),
        ],
    },
];
