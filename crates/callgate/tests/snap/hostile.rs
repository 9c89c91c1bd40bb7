//! Profiles that are designed to be expensive get an answer, or an error with the limit.

use callgate::Arch;
use callgate_formats::snap::{self, ReadOptions};
use callgate_testing::hostile::{self, Expensive, damage, expect_answers};
use callgate_testing::reader::repeated_lines;

const PROFILES: &[Expensive] = &[
    ("one rule", |size| repeated_lines(size, |_| "read".to_owned()), "read"),
    ("conditions of one syscall", |size| repeated_lines(size, |i| format!("ioctl - {i}")), "read"),
    (
        "ranges of one syscall",
        |size| repeated_lines(size, |i| format!("~ioctl - >={i} <{i}")),
        "read",
    ),
    ("unknown names", |size| repeated_lines(size, |i| format!("x{i}")), "read"),
    (
        "unknown constants",
        |size| repeated_lines(size, |i| format!("read AF_{i}")),
        "`AF_0` is neither a number",
    ),
    ("one long line", |size| "x".repeat(size), "the line has 200000 bytes; the maximum is 65535"),
    ("words", |_| "read -".repeat(9_000), "9000 arguments for `read`"),
    ("blanks", |size| repeated_lines(size, |_| " ".to_owned()), "a line of blanks"),
    ("line breaks", |size| "\n".repeat(size), "read"),
    ("bars", |_| format!("read {}", "|".repeat(60_000)), "`|||"),
];

fn answer(text: &str) -> String {
    hostile::answer(snap::read(text, &ReadOptions::new(Arch::X86_64), &mut |_, _| None))
}

#[test]
fn expensive_profiles_get_an_answer() {
    expect_answers(PROFILES, 200_000, answer);
}

#[test]
fn the_number_of_comparisons_is_limited() {
    assert_eq!(
        answer(&repeated_lines(2 << 20, |i| format!("read {i}"))),
        "the rules up to this line have more than 150000 comparisons, the limit; each counts on 2 architectures"
    );
}

/// Any part of a valid profile, and a profile with any byte changed, gets an answer.
#[test]
fn damaged_profiles_get_an_answer() {
    let text =
        "# c\n@complain\nread\n~socket AF_UNIX - |1\nchown - u:root -1\nioctl 15|7 >=3 <AF_INET6\n";
    let replacements = &["", "~", "|", "-", "0", "@", "\n", " ", "#", "\0", "\u{e9}", "\u{2003}"];
    damage(text, replacements, answer);
}
