//! Policies that are designed to be expensive get an answer, or an error with the limit.

use std::fmt::Write as _;

use callgate::Arch;
use callgate_formats::kafel::{self, ReadOptions};
use callgate_testing::hostile::{self, Expensive, damage, expect_answers, fill};

const POLICIES: &[Expensive] = &[
    ("one syscall, in one line", same_syscall, "read"),
    ("all numbers", numbers, "read"),
    ("conditions of one syscall", conditions, "read"),
    ("unknown names", |size| block(&fill(size, ",", |i| format!("x{i}"))), "unknown syscall `x0`"),
    ("one long name", |size| block(&"x".repeat(size)), "unknown syscall `xxx"),
    ("policies that use the one before", chain, "read"),
    (
        "uses of one policy",
        |size| format!("POLICY p {{ ALLOW {{ read }} }} USE p{}", ", USE p".repeat(size / 7)),
        "read",
    ),
    (
        "policies with one name",
        |size| "POLICY p {} ".repeat(size / 12),
        "policy `p` is already defined at 1:8",
    ),
    (
        "definitions of unknown words",
        |size| fill(size, "", |i| format!("#define a{i} X{i} ")),
        "`X0` is not a number",
    ),
    ("definitions of one name", |size| "#define a 1 ".repeat(size / 12), "read"),
    (
        "different definitions of one name",
        |size| fill(size, "", |i| format!("#define a {i} ")),
        "`a` has another value",
    ),
    (
        "open parentheses",
        |size| block(&format!("read {{ {}", "(".repeat(size))),
        "missing operand at the end of the expression",
    ),
    (
        "a condition in parentheses",
        |size| {
            block(&format!("read {{ {}fd == 1{} }}", "(".repeat(size / 2), ")".repeat(size / 2)))
        },
        "read",
    ),
    ("negations", |size| block(&format!("read {{ {}fd == 1 }}", "!".repeat(size))), "read"),
    (
        "one long disjunction",
        |size| block(&format!("read {{ {} }}", fill(size, " || ", |i| format!("count == {i}")))),
        "read",
    ),
    (
        "one long conjunction",
        |size| block(&format!("read {{ {} }}", fill(size, " && ", |i| format!("count != {i}")))),
        "read",
    ),
    (
        "nested to the right",
        |size| {
            block(&format!(
                "read {{ {}fd == 1{} }}",
                "fd == 2 && (".repeat(size / 13),
                ")".repeat(size / 13)
            ))
        },
        "read",
    ),
    ("alternating and nested", alternating, "`&&` and `||` are nested more than 200 deep"),
    ("alternating and negated", negated, "`&&` and `||` are nested more than 200 deep"),
    ("alternating, negated and flat", flat_negations, "read"),
    ("comparisons of six arguments", six_arguments, "the comparisons have more than 1000000 tests"),
    (
        "masks",
        |size| block(&format!("read {{ {} == 0 }}", fill(size, " | ", |i| format!("count & {i}")))),
        "read",
    ),
    ("unclosed comment", |size| format!("/*{}", "*".repeat(size)), "the comment has no end"),
    ("line breaks", |size| format!("{}ALLOW {{ read }}", "\n".repeat(size)), "read"),
    ("characters", |size| "%".repeat(size), "unexpected character '%'"),
    ("dollars", |size| "$".repeat(size), "`$` without the name of a variable"),
    (
        "variables",
        |size| {
            let each = (0..size / 24).map(|n| format!("(count == $v{n}) || "));
            format!("DEFAULT KILL ALLOW {{ write {{ {}fd == 1 }} }}", each.collect::<String>())
        },
        "the filter has more than 64 variables (the limit)",
    ),
    ("commas", |size| block(&",".repeat(size)), "expected a syscall, but found `,`"),
    ("nothing", |_| String::new(), "read"),
];

fn block(inside: &str) -> String {
    format!("ALLOW {{ {inside} }} DEFAULT KILL")
}

fn same_syscall(size: usize) -> String {
    block(&fill(size, ",", |_| "read".to_owned()))
}

fn numbers(size: usize) -> String {
    block(&fill(size, ",", |i| format!("SYSCALL[{}]", i * 2)))
}

fn conditions(size: usize) -> String {
    block(&fill(size, ",", |i| format!("read {{ count == {i} }}")))
}

fn chain(size: usize) -> String {
    let policies = fill(size, " ", |i| match i {
        0 => "POLICY p0 { ALLOW { read } }".to_owned(),
        i => format!("POLICY p{i} {{ USE p{0}, USE p{0} }}", i - 1),
    });
    let last = policies.matches("POLICY").count() - 1;
    format!("{policies} USE p{last} DEFAULT KILL")
}

fn alternating(size: usize) -> String {
    let levels = size / 32;
    let mut text = "fd == 1".to_owned();
    let mut ends = String::new();
    for level in 0..levels.min(10_000) {
        let sign = if level % 2 == 0 { "&&" } else { "||" };
        let _ = write!(ends, ") {sign} fd == {level}");
    }
    text.insert_str(0, &"(".repeat(levels.min(10_000)));
    block(&format!("read {{ {text}{ends} }}"))
}

fn negated(size: usize) -> String {
    let levels = (size / 32).min(10_000);
    let ends = (0..levels).fold(String::new(), |ends, level| format!("{ends}) && fd == {level}"));
    block(&format!("read {{ {}fd == 1{ends} }}", "!(".repeat(levels)))
}

/// `!(!(a || b) && c) || d`: De Morgan's laws make it one conjunction or disjunction.
fn flat_negations(size: usize) -> String {
    let levels = size / 20;
    let ends: String =
        (0..levels).map(|level| format!(") {} fd == {level}", ["&&", "||"][level % 2])).collect();
    block(&format!("read {{ {}fd == 1 || fd == 2{ends} }}", "!(".repeat(levels)))
}

/// Each comparison depends on 16 bits of six arguments.
fn six_arguments(size: usize) -> String {
    let comparison = "(a & b & 0xffff | c & d & 0xffff) < (e & f & 0xffff | 0 & a)";
    block(&fill(size, ",", |_| format!("read(a, b, c, d, e, f) {{ {comparison} }}")))
}

fn answer(text: &str) -> String {
    hostile::answer(kafel::read(text, &ReadOptions::new(Arch::X86_64)))
}

#[test]
fn expensive_policies_get_an_answer() {
    expect_answers(POLICIES, 200_000, answer);
}

#[test]
fn numbers_of_rules_and_parts_are_limited() {
    let rules = block(&fill(3 << 20, ",", |_| "a".to_owned()).replace('a', "x"));
    assert_eq!(answer(&rules), "more than 1000000 rules");
    let parts = block(&format!("read {{ {} }}", fill(9 << 20, ",", |_| "1==1".to_owned())));
    assert_eq!(answer(&parts), "the expressions have more than 1000000 parts");
    let comparisons = block(&fill(4 << 20, ",", |i| format!("read {{ count == {i} }}")));
    let refused = answer(&comparisons);
    assert!(refused.contains("comparisons on 1 architectures, the maximum is 150000"), "{refused}");
    let long = " ".repeat((10 << 20) + 1);
    assert_eq!(answer(&long), "the policy has 10485761 bytes, the maximum is 10485760");
}

/// Any part of a valid policy, and a policy with any byte changed, gets an answer.
#[test]
fn damaged_policies_get_an_answer() {
    let text = "#define A 0x1f\nPOLICY p { ALLOW { write(a, b) ON { x86_64, arm } { !(a & A == 1) || b < 2 }, SYSCALL[5] },\n\
                ERRNO(3) { openat { flags & O_CREAT != 0 && dfd == AT_FDCWD } } } /* c */ USE p DEFAULT KILL // end";
    let replacements = &["", "{", "}", "(", ")", "0", "!", "\"", "#include", "*/", "\n", "\u{e9}"];
    damage(text, replacements, answer);
}
