//! Hostile inputs: a repeated unit between a head and a tail.

use std::io::Write;

/// A reader of user input.
pub(super) struct Reader {
    pub(super) name: &'static str,
    /// The name of the input file.
    pub(super) file: &'static str,
    /// Other files that the commands need.
    pub(super) beside: &'static [(&'static str, &'static str)],
    /// The maximum size of its inputs in KiB, if that is less than for other readers.
    pub(super) most: Option<u64>,
    /// Whether long inputs are usual.
    pub(super) is_log: bool,
    /// The arguments of `callgate`.
    pub(super) commands: &'static [&'static str],
    pub(super) inputs: &'static [Input],
}

/// An input: a head, a repeated unit, and a tail.
pub(super) struct Input {
    pub(super) name: &'static str,
    pub(super) head: &'static [u8],
    /// Writes the unit with this number.
    pub(super) unit: fn(u64, &mut Vec<u8>),
    pub(super) tail: &'static [u8],
}

macro_rules! input {
    ($name:literal, $head:expr, [$($unit:tt)*], $tail:expr) => {
        Input {
            name: $name,
            head: $head.as_bytes(),
            unit: |_number, out| { let _ = unit!(out, _number, $($unit)*); },
            tail: $tail.as_bytes(),
        }
    };
}

macro_rules! unit {
    ($out:ident, $number:ident, $text:literal, $($with:expr),+) => {
        write!($out, $text, $(($with)($number)),+)
    };
    ($out:ident, $number:ident, $text:literal) => { $out.write_all($text.as_bytes()) };
}

const LXC: &str = "2\ndenylist\n";
const SOCKET: &[(&str, &str)] = &[("filter.txt", "ret #0\n")];
const CALLS: &str = r#"{"callgate": "recording", "version": 1, "calls": ["#;
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
    let tail = b"{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\"}]}";
    Input { name, head: head.as_bytes(), unit, tail }
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

const ENTRIES: &str = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": ["#;
const CONDITIONS: &str = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": [{"syscall": "ioctl",
    "args": ["#;

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
        name: "filters of Firecracker",
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
            input!("unknown syscalls", ENTRIES, [r#"{{"syscall":"x{}"}},"#, |n| n], "]}}"),
            input!("threads", "{", [r#""t{}":{{"filter":[]}},"#, |n| n], r#""vmm":{}}"#),
        ],
    },
    Reader {
        name: "policy of minijail",
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
        name: "profile of LXC",
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
            input!("unknown names", LXC, ["reat{}\n", |n| n], ""),
            input!("sections", LXC, ["[all]\n"], ""),
            input!("unknown sections", LXC, ["[{}]\n", |n| n], ""),
            input!("brackets", "2\ndenylist\nread kill ", ["["], ""),
            input!("newlines", LXC, ["\n"], ""),
        ],
    },
    Reader {
        name: "profile of a snap",
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
            input!("unknown names", "", ["reat{}\n", |n| n], "read\n"),
            input!("unknown constants", "", ["read AF_{}\n", |n| n], ""),
            input!("one line", "", ["read "], ""),
            input!("newlines", "", ["\n"], "read\n"),
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
    Reader {
        name: "program as text",
        file: "program.txt",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["disasm bpftext:program.txt"],
        inputs: &[
            input!("labels", "", ["a:"], ""),
            input!("labels of different names", "", ["a{}:\n", |n| n], "ret #0\n"),
            input!("instructions", "", ["ret a\n"], ""),
            input!("instructions in a line", "", ["ret a "], "\n"),
            input!("jumps to nowhere", "", ["ja l{}\n", |n| n], ""),
            input!("words", "", ["word\n"], ""),
            input!("words in a line", "", ["word "], ""),
            input!("signs", "", ["$"], ""),
            input!("comments", "", ["; c\n"], "ret #0\n"),
            input!("one comment", "/*", ["* "], "*/ ret #0\n"),
            input!("comments that end nowhere", "", ["/*"], ""),
            input!("blanks", "", [" "], "ret #0\n"),
            input!("newlines", "", ["\n"], "ret #0\n"),
            input!("CRLF", "", ["\r\n"], "ret #0\r\n"),
            input!("one word", "", ["abcdefgh"], ""),
            input!("one number", "ld #", ["1234567890"], ""),
            input!("quotes", "", ["'"], ""),
            input!("byte orders", "", [".endian big\n"], "ret #0\n"),
            input!("lines of tcpdump -d", "", ["({:03}) ret #0\n", |n| n], ""),
            input!("tcpdump -ddd", "99999\n", ["6 0 0 0\n"], ""),
            input!("tcpdump -ddd, many columns", "99999\n", ["6 "], ""),
            input!("tcpdump -ddd, many commas", "99999,", ["6 0 0 0,"], ""),
            input!("rows of tcpdump -dd", "", ["{ 6, 0, 0, 0 },\n"], ""),
            input!("open braces", "", ["{"], ""),
            input!("parentheses in a row", "{ ", ["("], ""),
            input!("sums in a row", "{ 1", ["|1"], ", 0, 0, 0 },"),
            input!("hexadecimal", "", ["06000000"], ""),
            input!("hexadecimal, prefixes", "", ["\\x06"], ""),
            input!("rows of libseccomp", "", ["{}: 0x06 0x00 0x00 0x00000000\n", |n| n], ""),
        ],
    },
    Reader {
        name: "program in raw bytes",
        file: "program.bpf",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["disasm bpf:program.bpf"],
        inputs: &[
            input!("returns", "", ["\x06\0\0\0\0\0\0\0"], ""),
            input!("unknown codes", "", ["\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"], ""),
        ],
    },
    Reader {
        name: "recording in JSON",
        file: "recording.json",
        beside: &[],
        most: None,
        is_log: false,
        commands: &["record --from recording.json -o /dev/null"],
        inputs: &[
            input!("list of zeros", "{\"a\": [0", [",0"], "]}"),
            input!("entries that are zeros", CALLS, ["0,"], "0]}"),
            input!("empty entries", CALLS, ["{},"], "{}]}"),
            input!(
                "numbers",
                CALLS,
                ["{{\"arch\":\"x86_64\",\"nr\":{},\"count\":1}},", |n| n],
                "{\"arch\":\"x86_64\",\"nr\":0,\"count\":1}]}"
            ),
            input!(
                "one call",
                CALLS,
                ["{\"arch\":\"x86_64\",\"nr\":0,\"count\":1},"],
                "{\"arch\":\"x86_64\",\"nr\":0,\"count\":1}]}"
            ),
            input!(
                "values",
                r#"{"callgate": "recording", "version": 1, "calls": [{"arch": "x86_64", "nr": 0, "count": 1, "args": [{"values": ["#,
                ["\"0x{:x}\",", |n| n],
                "0]}]}]}"
            ),
            input!(
                "runs",
                r#"{"callgate": "recording", "version": 1, "calls": [], "runs": ["#,
                ["{},"],
                "{}]}"
            ),
            input!(
                "words of a command",
                r#"{"callgate": "recording", "version": 1, "calls": [{"arch":"x86_64","nr":0,"count":1}], "runs": [{"command": ["#,
                ["\"a\","],
                "\"a\"]}]}"
            ),
            input!("cut off", CALLS, ["{\"arch\":\"x86_64\",\"nr\":0,\"count\":1},"], "{"),
        ],
    },
    Reader {
        name: "log",
        file: "log.txt",
        beside: &[],
        most: None,
        is_log: true,
        commands: &["record --from log.txt -o /dev/null"],
        inputs: &[
            input!(
                "of strace",
                "",
                [
                    "{} openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n",
                    |n: u64| 1000 + n % 7
                ],
                ""
            ),
            input!(
                "of strace, raw",
                "",
                [
                    "{} openat(0xffffff9c, 0x{:x}, 0x80000, 0x0) = 0x3\n",
                    |n: u64| 1000 + n % 7,
                    |n| n
                ],
                ""
            ),
            input!("of strace, unknown numbers", "", ["syscall_0x{:x}(0) = 0\n", |n| n], ""),
            input!("of strace, unknown names", "", ["call{}(0) = 0\n", |n| n], ""),
            input!("of strace, processes", "", ["{} close(3) = 0\n", |n| n], ""),
            input!("of strace, unfinished", "", ["{} close(3 <unfinished ...>\n", |n| n], ""),
            input!(
                "of strace, attached",
                "",
                ["strace: Process {} attached\n", |n| n],
                "close(3) = 0\n"
            ),
            input!("of strace, resumed", "", ["<... close resumed>) = 0\n"], ""),
            input!("of strace, one line", "write(1, \"", ["abcdefgh"], "\") = 0\n"),
            input!("of strace, a name of one line", "", ["abcdefgh"], "(1) = 0\n"),
            input!("of strace, arguments", "close(1", [",1"], ") = 0\n"),
            input!("other lines", "close(3) = 0\n", ["# something else {}\n", |n| n], ""),
            input!("newlines", "", ["\n"], "close(3) = 0\n"),
            input!("blanks", "", [" "], "close(3) = 0\n"),
            input!("brackets", "close(3) = 0\n", ["["], "\n"),
            input!(
                "of the audit system",
                "",
                [
                    "type=SECCOMP msg=audit(1.1:{}): auid=0 uid=0 gid=0 ses=1 pid=1 comm=\"a\" exe=\"/a\" sig=0 arch=c000003e syscall={} compat=0 ip=0x0 code=0x0\n",
                    |n| n,
                    |n| n % 300
                ],
                ""
            ),
            input!(
                "of the audit system, unknown numbers",
                "",
                ["type=1326 audit(1.1:1): arch=c000003e syscall={} compat=0\n", |n| n],
                ""
            ),
            input!(
                "of the audit system, unknown architectures",
                "",
                ["type=1326 audit(1.1:1): arch={:x} syscall=1 compat=0\n", |n| n],
                ""
            ),
            input!(
                "of perf trace -s",
                "   syscall            calls  errors  total\n --------------- --------  ------ --------\n",
                ["   read                1000      0      1.5\n"],
                ""
            ),
            input!("counts", "", ["read {}\n", |n| n], ""),
            input!("counts, unknown names", "", ["reat{} 1\n", |n| n], ""),
            input!("counts, one line", "read 1\n", ["a "], "\n"),
            input!("words", "", ["nothing to see here\n"], ""),
            input!("dmesg", "", ["[   12.{:06}] usb 1-1: new high-speed USB device\n", |n| n], ""),
            input!("a list in JSON", "[0", [",0"], "]"),
            input!("JSON that ends nowhere", "{", ["\n"], ""),
        ],
    },
    Reader {
        name: "log for check",
        file: "log.txt",
        beside: &[],
        most: None,
        is_log: true,
        commands: &["check log.txt container-default", "generate log.txt -o /dev/null"],
        inputs: &[input!(
            "of strace",
            "",
            ["{} openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n", |n: u64| 1000
                + n % 7],
            ""
        )],
    },
    Reader {
        name: "weights",
        file: "weights.txt",
        beside: &[],
        most: None,
        is_log: true,
        commands: &["compile container-default --weights weights.txt -o /dev/null"],
        inputs: &[
            input!("counts", "", ["read {}\n", |n| n], ""),
            input!("unknown names", "", ["reat{} 1\n", |n| n], "read 1\n"),
            input!(
                "log of strace",
                "",
                [
                    "{} openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n",
                    |n: u64| 1000 + n % 7
                ],
                ""
            ),
        ],
    },
    Reader {
        name: "packets",
        file: "packets.txt",
        beside: SOCKET,
        most: None,
        is_log: false,
        commands: &["simulate socket:filter.txt --packets packets.txt"],
        inputs: &[
            input!("bytes", "", ["00\n"], ""),
            input!("one packet", "", ["00"], "\n"),
            input!("mistakes", "", ["z\n"], ""),
            input!("newlines", "", ["\n"], "00\n"),
        ],
    },
    Reader {
        name: "capture",
        file: "packets.pcap",
        beside: SOCKET,
        most: None,
        is_log: false,
        commands: &["simulate socket:filter.txt --packets packets.pcap"],
        inputs: &[Input {
            name: "packets without bytes",
            head: b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0",
            unit: |_, out| out.extend([0; 16]),
            tail: b"",
        }],
    },
];
