//! Policies in Kafel's language.

use super::input::{Input, Reader, input, six_unrelated, unit, unrelated};
use std::io::Write;

/// Files that are included.
const BESIDE: &[(&str, &str)] = &[
    ("part.kafel", "ALLOW { read }\n"),
    ("itself.kafel", "ALLOW { read }\n#include \"itself.kafel\"\n"),
    ("there.kafel", "#include \"back.kafel\"\n"),
    ("back.kafel", "#include \"there.kafel\"\n"),
    ("open.kafel", "ALLOW { read { fd == 1"),
];
const CALL: &str = "ALLOW { ioctl(a, b, c, d, e, f) { ";
const END: &str = " } }\n";
/// The last comparison of a rule, and the end of the rule.
const LAST: &str = "a == 1 } }\n";

/// 10,000 open parentheses, a comparison, as many closed ones, and blanks.
fn parentheses(n: u64, out: &mut Vec<u8>) {
    let text: &str = match n {
        0..10_000 => "(",
        10_000 => "a == 1",
        10_001..=20_000 => ")",
        _ => " ",
    };
    out.extend(text.as_bytes());
}

fn unrelated_rule(n: u64, out: &mut Vec<u8>) {
    let action = ["ALLOW", "LOG"][n as usize % 2];
    let _ = write!(out, "{action} {{ ioctl(a, b, c, d, e, f) {{ ");
    let names = |argument| char::from(b'a' + argument as u8);
    six_unrelated(n, " && ", |argument, value| format!("{} < {value}", names(argument)), out);
    out.extend(END.as_bytes());
}

/// 300,000 policies, and then names of others.
fn policies_and_unknown_ones(n: u64, out: &mut Vec<u8>) {
    let _ = match n {
        0..300_000 => writeln!(out, "POLICY policy{n} {{}}"),
        _ => writeln!(out, "USE policu{n}"),
    };
}

pub(super) const READERS: &[Reader] = &[Reader {
    name: "policy in Kafel's language",
    file: "hostile.kafel",
    beside: BESIDE,
    // The reader refuses policies of more than 10 MiB at once.
    most: Some(10 << 10),
    is_log: false,
    commands: &[
        "compile kafel:hostile.kafel --arch x86_64 -o /dev/null",
        "compile kafel:hostile.kafel --arch x86_64 --arch x86 --arch arm64 -o /dev/null",
    ],
    inputs: &[
        input!("blocks", "", ["ALLOW { read }\n"], ""),
        input!("blocks that end nowhere", "", ["ALLOW { read "], ""),
        input!("syscalls of one block", "ALLOW { write", [", read"], " }\n").at_most(990_000),
        input!("syscalls by number", "ALLOW { write", [", SYSCALL[{}]", |n| n], " }\n")
            .at_most(990_000),
        input!(
            "rules for one syscall",
            "ALLOW { write",
            [", read {{ fd == {} }}", |n: u64| n * 3],
            " }\n"
        )
        .at_most(149_000),
        input!(
            "rules with different actions",
            "",
            [
                "ALLOW {{ read {{ fd == {} }} }}\nLOG {{ read {{ fd == {} }} }}\n",
                |n: u64| n * 2,
                |n: u64| n * 2 + 1
            ],
            ""
        )
        .at_most(74_000),
        input!("comparisons of one rule", CALL, ["a == {} || ", |n: u64| n * 3], LAST)
            .at_most(149_000),
        input!(
            "comparisons of all arguments",
            CALL,
            ["a == {} && b < {} && c & 1 == 1 || ", |n: u64| n * 3, |n| n],
            LAST
        )
        .at_most(49_000),
        Input::new("six unrelated comparisons of 64 bits each", "", unrelated_rule, "").at_most(16),
        input!("unrelated numbers of 64 bits", CALL, ["a == {} || ", |n: u64| unrelated(n)], LAST)
            .at_most(1200),
        input!(
            "masks of one argument",
            CALL,
            ["(a & {}) == {} || ", |n: u64| n * 3, |n: u64| n],
            LAST
        )
        .at_most(149_000),
        input!(
            "masks of several arguments",
            CALL,
            ["(a & {}) == 1 && ((b | c) & {}) != 2 || ", |n: u64| n % 4096, |n: u64| n % 65_536],
            LAST
        )
        .at_most(74_000),
        input!(
            "arguments compared with each other",
            CALL,
            ["(a & 0xffff) < (b & 0xffff) || "],
            LAST
        )
        .at_most(140_000),
        input!(
            "bits of all arguments",
            CALL,
            ["((a | b | c) & {}) == ((d & e & f) & 0xffff) || ", |n: u64| n % 65_536],
            LAST
        )
        .at_most(140_000),
        input!("a mask of many numbers", CALL, ["{} | ", |n| n], "1 == a } }\n").at_most(490_000),
        Input::new("10,000 parentheses", CALL, parentheses, END),
        input!("parentheses that end nowhere", CALL, ["("], ""),
        input!("parentheses that begin nowhere", CALL, [")"], ""),
        input!("nested conditions", CALL, ["(a == 1 && (b == 1 || "], "").at_most(95),
        input!("conditions without parentheses", CALL, ["a == 1 && b == 1 || "], LAST)
            .at_most(74_000),
        input!("negations", CALL, ["!"], "(a == 1) } }\n").at_most(900_000),
        input!("negations of negations", CALL, ["!("], ""),
        input!("negated comparisons", CALL, ["!(a == {}) && ", |n| n], LAST).at_most(149_000),
        input!("alternating negations", CALL, ["!(a == {} || !(b == 1)) && ", |n| n], LAST)
            .at_most(74_000),
        input!("unknown syscalls", "ALLOW { read", [", x{}", |n| n], " }\n").at_most(990_000),
        input!("unknown arguments", "ALLOW { read", [", write {{ x{} == 1 }}", |n| n], " }\n")
            .at_most(149_000),
        input!("unknown constants", "ALLOW { read", [", write {{ fd == O_X{} }}", |n| n], " }\n")
            .at_most(149_000),
        input!("unknown words", "", ["x{}\n", |n| n], ""),
        input!("definitions", "", ["#define A{0} {0}\n", |n| n], "ALLOW { read }\n"),
        input!(
            "a chain of definitions",
            "#define A0 1\n",
            ["#define A{} A{}\n", |n| n + 1, |n| n],
            "ALLOW { read { fd == A1 } }\n"
        ),
        input!("definitions of one name", "", ["#define A {}\n", |n| n], "ALLOW { read }\n"),
        input!(
            "definitions of unknown words",
            "",
            ["#define A{0} X{0}\n", |n| n],
            "ALLOW { read }\n"
        ),
        input!("policies", "", ["POLICY p{} {{ ALLOW {{ read }} }}\n", |n| n], "USE p1\n"),
        input!("policies of one name", "", ["POLICY p { ALLOW { read } }\n"], "USE p\n"),
        input!(
            "a chain of policies",
            "POLICY p0 { ALLOW { read } }\n",
            ["POLICY p{} {{ USE p{} }}\n", |n| n + 1, |n| n],
            "USE p1\n"
        ),
        input!("policies that are used", "POLICY p { ALLOW { read } }\n", ["USE p\n"], ""),
        input!(
            "policies that are used twice each",
            "POLICY p0 { ALLOW { read } }\n",
            ["POLICY p{0} {{ USE p{1}, USE p{1} }}\n", |n| n + 1, |n| n],
            "USE p1\n"
        ),
        input!(
            "policies that are used in one statement",
            "POLICY p { ALLOW { read } }\nUSE p",
            [", p"],
            "\n"
        ),
        input!("unknown policies", "", ["USE p{}\n", |n| n], ""),
        Input::new("unknown policies after known ones", "", policies_and_unknown_ones, ""),
        input!("default actions", "", ["DEFAULT KILL\n"], ""),
        input!("files", "", ["#include \"part.kafel\"\n"], ""),
        input!("files of one directive", "#include", [" \"part.kafel\""], "\n"),
        input!("missing files", "", ["#include \"none{}.kafel\"\n", |n| n], ""),
        input!("a file that includes itself", "", ["#include \"itself.kafel\"\n"], ""),
        input!("the policy itself", "", ["#include \"hostile.kafel\"\n"], ""),
        input!("files in a cycle", "", ["#include \"there.kafel\"\n"], ""),
        input!("files that end in an expression", "", ["#include \"open.kafel\"\n"], ""),
        input!("names of files that end nowhere", "", ["#include \"part.kafel\n"], ""),
        input!("a name of a file", "#include \"", ["abcdefgh"], ""),
        input!("comments", "", ["// c\n"], "ALLOW { read }\n"),
        input!("one comment", "/*", ["* "], " */ ALLOW { read }\n"),
        input!("comments in a row", "", ["/**/"], "ALLOW { read }\n"),
        input!("comments that end nowhere", "", ["/*"], ""),
        input!("CRLF", "", ["ALLOW { read }\r\n"], ""),
        input!("line ends", "", ["\r\n"], "ALLOW { read }\r\n"),
        input!("tabs", "", ["\t"], "ALLOW { read }\n"),
        input!("NUL", "", ["\0"], ""),
        Input::new("invalid UTF-8", "ALLOW { read }\n", |_, out| out.extend(b"\xff\xfe"), ""),
        input!("other characters", "", ["é"], ""),
        input!("other characters between syscalls", "ALLOW { read", [" $, read"], " }\n"),
        input!("one word", "ALLOW { ", ["abcdefgh"], " }\n"),
        input!("one number", "ALLOW { SYSCALL[", ["1234567890"], "] }\n"),
    ],
}];
