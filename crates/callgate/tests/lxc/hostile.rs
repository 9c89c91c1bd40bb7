//! Profiles that are designed to be expensive get an answer, or an error with the limit.

use callgate::Arch;
use callgate_formats::lxc::{self, ReadOptions};
use callgate_testing::hostile::{self, Expensive, damage, expect_answers};
use callgate_testing::reader::repeated_lines;

const PROFILES: &[Expensive] = &[
    ("one rule", |size| lines(size, |_| "read errno 1".to_owned()), "read"),
    (
        "conditions of one syscall",
        |size| lines(size, |i| format!("read errno 1 [0,{i},==]")),
        "read",
    ),
    (
        "conditions with different actions",
        |size| lines(size, |i| format!("read errno {} [{},{i},&=,{i}]", i % 9, i % 6)),
        "read",
    ),
    ("unknown names", |size| lines(size, |i| format!("x{i}")), "read"),
    ("one long name", |size| lines(1, |_| "x".repeat(size)), "read"),
    ("sections", |size| lines(size, |_| "[all]".to_owned()), "read"),
    ("unknown sections", |size| lines(size, |i| format!("[{i}]")), "LXC refuses the section `[0]`"),
    ("actions", |size| lines(1, |_| format!("read {}", "kill".repeat(size / 4))), "read"),
    ("brackets", |size| lines(1, |_| format!("read kill {}", "[".repeat(size))), "`[[["),
    (
        "closing brackets",
        |size| lines(1, |_| format!("read kill [0,1,==]{}", "]".repeat(size))),
        "read",
    ),
    (
        "comparisons in a line",
        |size| lines(1, |_| format!("read kill {}", "[0,1,==]".repeat(size / 8))),
        "a second comparison of argument 0",
    ),
    ("digits", |size| format!("{}\ndenylist", "2".repeat(size)), "expected the version, 1 or 2"),
    ("blanks before the version", |size| format!("{}2\ndenylist\nread", " ".repeat(size)), "read"),
    ("line breaks", |size| lines(size, |_| String::new()), "read"),
    (
        "numbers",
        |size| format!("1\nallowlist\n{}", repeated_lines(size, |i| i.to_string())),
        "read",
    ),
];

fn lines(size: usize, line: impl FnMut(usize) -> String) -> String {
    format!("2\ndenylist\n{}", repeated_lines(size, line))
}

fn answer(text: &str) -> String {
    hostile::answer(lxc::read(text, &ReadOptions::new(Arch::X86_64)))
}

#[test]
fn expensive_profiles_get_an_answer() {
    expect_answers(PROFILES, 200_000, answer);
}

#[test]
fn the_number_of_comparisons_is_limited() {
    let text = lines(2 << 20, |i| format!("read errno 1 [0,{i},==]"));
    assert_eq!(
        answer(&text),
        "the rules up to this line have more than 150000 comparisons, the limit; each counts on 3 architectures"
    );
}

/// Any part of a valid profile, and a profile with any byte changed, gets an answer.
#[test]
fn damaged_profiles_get_an_answer() {
    let text = "2\nallowlist errno 38 # x\nreject_force_umount\n[x86_64]\nread\nclone kill [0,0x10,&=,0x30] [1,2,!=]\n";
    let replacements = &["", "[", "]", ",", "0", "-", "\n", " ", "#", "\0", "\u{e9}"];
    damage(text, replacements, answer);
}
