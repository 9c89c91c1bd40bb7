//! Recordings, logs, and weights.

use super::input::{Input, Reader, input, unit};
use std::io::Write;

const CALLS: &str = r#"{"callgate": "recording", "version": 1, "calls": ["#;

pub(super) const READERS: &[Reader] = &[
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
                "strace log",
                "",
                [
                    "{} openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\n",
                    |n: u64| 1000 + n % 7
                ],
                ""
            ),
        ],
    },
];
