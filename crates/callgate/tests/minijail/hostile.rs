//! Policies that are designed to be expensive get an answer, or an error with the limit.

use callgate::Arch;
use callgate_formats::minijail::{self, ReadOptions};
use callgate_testing::hostile::{self, damage, fill};

fn answer(text: &str) -> String {
    hostile::answer(minijail::read(text, &ReadOptions::new(Arch::X86_64)))
}

#[test]
fn expensive_policies_get_an_answer() {
    let size = 200_000;
    let conditions = |n| format!("arg1 == {n}");
    for (name, text, expected) in [
        ("one condition", format!("read: {}", fill(size, " || ", conditions)), "read"),
        (
            "one conjunction",
            format!("read: {}", fill(size, " && ", |n| format!("arg1 != {n}"))),
            "read",
        ),
        ("statements", fill(size, "\n", |n| format!("read: arg1 == {n}")), "read"),
        ("filters", format!("read: {{{}}}", fill(size, ", ", conditions)), "read"),
        ("one value", format!("read: arg0 == {}", fill(size, "|", |n| n.to_string())), "read"),
        (
            "parentheses",
            format!("read: arg0 == {}", "(".repeat(size)),
            "parentheses are nested more than 100 deep",
        ),
        ("complements", format!("read: arg0 == {}", "~".repeat(size)), "`~` after `~`"),
        ("actions", fill(size, "\n", |_| "read: 1".to_owned()), "`read` already has an action"),
        (
            "one syscall",
            format!("{{{}}}: arg0 == 1", fill(size, ",", |_| "read".to_owned())),
            "read",
        ),
        ("unknown syscalls", fill(size, "\n", |n| format!("x{n}: 1")), "unknown syscall `x0`"),
        (
            "unknown constants",
            fill(size, "\n", |n| format!("read: arg0 == X{n}")),
            "unknown constant `X0`",
        ),
        ("braces", "{".repeat(size), "expected the name of a syscall, but found `{`"),
        ("lines that go on", "\\\n".repeat(size), "read"),
        ("keys", format!("read[{}]: 1", fill(size, ";", |n| format!("k{n}=x"))), "read"),
        ("characters", "$\n".repeat(size), "unexpected character '$'"),
        ("a long word", "x".repeat(size), "unknown syscall `xxx"),
        ("nothing", String::new(), "read"),
    ] {
        let answer = answer(&text);
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
}

#[test]
fn comparisons_words_and_bytes_are_limited() {
    let conditions = fill(3_000_000, " || ", |n| format!("arg1 == {n}"));
    let message = answer(&format!("read: {conditions}"));
    assert!(message.ends_with("counted for each syscall; the limit is 150000"), "{message}");
    let shared = fill(80_000, " || ", |n| format!("arg1 == {n}"));
    let names = "read, write, open, close, stat, fstat, lstat, poll, lseek, mmap, mprotect, munmap, brk, \
                 ioctl, readv, writev, access, pipe, select, dup, dup2, pause, getpid, gettid, sendfile, \
                 socket, connect, accept, sendto, recvfrom, sendmsg, recvmsg, shutdown, bind, listen";
    let message = answer(&format!("{{{names}}}: {shared}"));
    assert!(message.ends_with("counted for each syscall; the limit is 150000"), "{message}");
    let message = answer(&"{".repeat(1_000_001));
    assert_eq!(message, "the statement has more than 1000000 words and signs");
    let long = " ".repeat((10 << 20) + 1);
    assert_eq!(answer(&long), "the policy has 10485761 bytes, the maximum is 10485760");
}

/// Any part of a valid policy, and a policy with any byte changed, gets an answer.
#[test]
fn damaged_policies_get_an_answer() {
    let text = "# x\n@default trap\n{read, write[arch=x86_64,arm]}: arg0 in ~(1|0x2) && arg1 != -1 \\\n || arg2 & 017; \
                return EPERM\nopen: {arg1 == O_RDONLY, kill-process}\nkill: 1\n";
    let replacements =
        &["", "{", "}", "(", ")", "0", "~", "\\", "@", ":", "\n", "\r", "\u{e9}", "\u{a0}"];
    damage(text, replacements, answer);
}
