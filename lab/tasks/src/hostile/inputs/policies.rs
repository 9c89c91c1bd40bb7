//! Policies of Firecracker, minijail, LXC and snaps.

use super::input::{Input, Reader, input, six_unrelated, unit, unrelated};
use std::io::Write;

const PFC: &str = "if ($arch == 3221225534)\n";
const PFC_END: &str = "  action ERRNO(1);\naction KILL;\n";
const LXC: &str = "2\ndenylist\n";

const ENTRIES: &str = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": ["#;
const CONDITIONS: &str = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": [{"syscall": "ioctl",
    "args": ["#;

/// Writes a rule of Firecracker, minijail, LXC or a snap with six comparisons of unrelated numbers.
fn unrelated_entry(n: u64, out: &mut Vec<u8>) {
    out.extend(br#"{"syscall":"ioctl","args":["#);
    let condition =
        |at, value| format!(r#"{{"index":{at},"type":"qword","op":"eq","val":{value}}}"#);
    six_unrelated(n, ",", condition, out);
    out.extend(b"]},");
}

fn unrelated_conjunction(n: u64, out: &mut Vec<u8>) {
    out.extend(b" || ");
    six_unrelated(n, " && ", |at, value| format!("arg{at} == {value}"), out);
}

fn unrelated_lxc(n: u64, out: &mut Vec<u8>) {
    let _ = write!(out, "ioctl errno {} ", 1 + n % 2);
    six_unrelated(n, " ", |at, value| format!("[{at},{value},!=]"), out);
    out.push(b'\n');
}

/// Numbers in snap profiles have 32 bits.
fn unrelated_snap(n: u64, out: &mut Vec<u8>) {
    out.extend(b"ioctl ");
    six_unrelated(n, " ", |_, value| (value >> 32).to_string(), out);
    out.push(b'\n');
}

pub(super) const READERS: &[Reader] = &[
    Reader {
        name: "Firecracker filters",
        file: "filters.json",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile firecracker:filters.json#vmm --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("entries", ENTRIES, [r#"{"syscall":"read"},"#], r#"{"syscall":"read"}]}}"#),
            input!(
                "conditions of one entry",
                CONDITIONS,
                [r#"{{"index":1,"type":"qword","op":"ne","val":{}}},"#, |n: u64| n * 3],
                r#"{"index":1,"type":"qword","op":"ne","val":1}]}]}}"#
            ),
            input!(
                "entries with conditions",
                ENTRIES,
                [
                    r#"{{"syscall":"ioctl","args":[{{"index":1,"type":"dword","op":"eq","val":{}}}]}},"#,
                    |n: u64| n * 3
                ],
                r#"{"syscall":"read"}]}}"#
            ),
            input!(
                "masks",
                ENTRIES,
                [
                    r#"{{"syscall":"ioctl","args":[{{"index":1,"type":"qword","op":{{"masked_eq":{0}}},"val":{0}}}]}},"#,
                    |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ],
                r#"{"syscall":"read"}]}}"#
            ),
            Input::new(
                "six unrelated comparisons of 64 bits each",
                ENTRIES,
                unrelated_entry,
                r#"{"syscall":"read"}]}}"#,
            )
            .at_most(16),
            input!(
                "unrelated numbers of 64 bits",
                ENTRIES,
                [
                    r#"{{"syscall":"ioctl","args":[{{"index":1,"type":"qword","op":"eq","val":{}}}]}},"#,
                    |n: u64| unrelated(n)
                ],
                r#"{"syscall":"read"}]}}"#
            )
            .at_most(1200),
            input!("unknown syscalls", ENTRIES, [r#"{{"syscall":"x{}"}},"#, |n| n], "]}}"),
            input!("threads", "{", [r#""t{}":{{"filter":[]}},"#, |n| n], r#""vmm":{}}"#),
        ],
    },
    Reader {
        name: "minijail policy",
        file: "hostile.policy",
        beside: &[],
        // The reader refuses policies of more than 10 MiB at once.
        most: Some(10 << 10),
        is_log: false,
        commands: &["compile minijail:hostile.policy --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one condition", "ioctl: arg1 == 0", [" || arg1 == {}", |n: u64| n * 3], "\n"),
            input!("conditions of one syscall", "", ["ioctl: arg1 == {}\n", |n: u64| n * 3], ""),
            input!("one value", "ioctl: arg1 == 0", ["|{}", |n: u64| n * 3], "\n"),
            Input::new(
                "six unrelated comparisons of 64 bits each",
                "ioctl: arg1 == 0",
                unrelated_conjunction,
                "\n",
            )
            .at_most(16),
            input!(
                "unrelated numbers of 64 bits",
                "ioctl: arg1 == 0",
                [" || arg1 == {}", |n: u64| unrelated(n)],
                "\n"
            )
            .at_most(1200),
            input!("parentheses", "ioctl: arg1 == ", ["("], "\n"),
            input!("actions", "", ["read: 1\n"], ""),
            input!("unknown syscalls", "", ["x{}: 1\n", |n| n], ""),
            input!("unknown constants", "", ["read: arg0 == X{}\n", |n| n], ""),
            input!("syscalls of one statement", "{read", [",read"], "}: arg0 == 1\n"),
            input!("braces", "", ["{"], "\n"),
            input!("lines that go on", "", ["\\\n"], "read: 1\n"),
            input!("comments", "", ["#\n"], "read: 1\n"),
            input!("characters", "", ["$\n"], ""),
        ],
    },
    Reader {
        name: "LXC profile",
        file: "lxc.seccomp",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile lxc:lxc.seccomp --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one rule", LXC, ["read errno 1\n"], ""),
            input!(
                "comparisons of one call",
                LXC,
                ["ioctl errno 1 [1,{},==]\n", |n| n % 50_000],
                ""
            ),
            input!(
                "with several actions for one call",
                LXC,
                [
                    "ioctl errno {} [{},{},&=,{}]\n",
                    |n| n % 9,
                    |n| n % 6,
                    |n| n % 20_000,
                    |n| n % 20_000
                ],
                ""
            ),
            Input::new("six unrelated comparisons of 64 bits each", LXC, unrelated_lxc, "")
                .at_most(100),
            input!(
                "unrelated numbers of 64 bits",
                LXC,
                ["ioctl errno 1 [1,{},==]\n", |n: u64| unrelated(n)],
                ""
            )
            .at_most(1000),
            input!("unknown names", LXC, ["reat{}\n", |n| n], ""),
            input!("sections", LXC, ["[all]\n"], ""),
            input!("unknown sections", LXC, ["[{}]\n", |n| n], ""),
            input!("brackets", "2\ndenylist\nread kill ", ["["], ""),
            input!("newlines", LXC, ["\n"], ""),
        ],
    },
    Reader {
        name: "snap profile",
        file: "snap.src",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["compile snap:snap.src --arch x86_64 -o /dev/null"],
        inputs: &[
            input!("one rule", "", ["read\n"], ""),
            input!("comparisons of one call", "", ["ioctl - {}\n", |n| n % 70_000], ""),
            input!(
                "in both filters",
                "",
                ["~ioctl - >{}\nioctl - !{}\n", |n| n % 20_000, |n| n % 20_000],
                ""
            ),
            Input::new("six unrelated comparisons each", "", unrelated_snap, "").at_most(50),
            input!("unknown names", "", ["reat{}\n", |n| n], "read\n"),
            input!("unknown constants", "", ["read AF_{}\n", |n| n], ""),
            input!("one line", "", ["read "], ""),
            input!("newlines", "", ["\n"], "read\n"),
        ],
    },
    Reader {
        name: "pseudo filter code",
        file: "filter.pfc",
        beside: &[],
        most: Some(10 << 10),
        is_log: false,
        commands: &["compile filter.pfc -o /dev/null"],
        inputs: &[
            input!("one rule", PFC, ["  if ($syscall == 1)\n    action ALLOW;\n"], PFC_END).at_most(149_000),
            input!(
                "comparisons of one call",
                PFC,
                ["  if ($syscall == 1)\n    if ($a0.lo32 == {})\n      action LOG;\n", |n| n],
                PFC_END
            )
            .at_most(74_000),
            input!(
                "words without an order",
                PFC,
                [
                    "  if ($syscall == 1)\n    if ($a0.hi32 == {})\n      if ($a1.lo32 > {})\n        action LOG;\n",
                    |n: u64| unrelated(n) >> 32,
                    |n: u64| unrelated(n) & 0xffff_ffff
                ],
                PFC_END
            )
            .at_most(1000),
            input!("comments", PFC, ["#\n"], PFC_END),
            input!("blocks that decide nothing", PFC, ["  if ($syscall == 1)\n"], PFC_END),
            input!("deeper and deeper", "if ($arch == 3221225534)\n", [" "], "x"),
            input!("text around it", "", ["x\n"], "if ($arch == 3221225534)\n  action LOG;\naction KILL;\n"),
            input!("comments that contradict", PFC, ["# filter for syscall \"read\" (1)\n  if ($syscall == 1)\n"], PFC_END),
        ],
    },
];
