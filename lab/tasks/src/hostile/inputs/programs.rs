//! BPF programs: text and raw bytes.

use super::input::{Input, Reader, input, unit};
use std::io::Write;

pub(super) const READERS: &[Reader] = &[
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
];
