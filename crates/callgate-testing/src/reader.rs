//! What tests of readers share: messages and syscalls as text.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_core::{Arch, SeccompData};

/// Messages with help, one per line: `line:column: what (help)`.
pub fn lines(messages: &[Diagnostic]) -> String {
    joined(messages.iter())
}

/// The errors among messages, as [`lines`].
pub fn error_lines(messages: &[Diagnostic]) -> String {
    joined(messages.iter().filter(|one| one.severity == Severity::Error))
}

fn joined<'m>(messages: impl Iterator<Item = &'m Diagnostic>) -> String {
    let lines: Vec<String> = messages.map(|one| format!("{one} ({})", one.help)).collect();
    lines.join("\n")
}

/// Checks the messages about each of these texts.
///
/// # Panics
/// If they are not the expected ones.
pub fn expect_messages(texts: &[(&str, &str)], messages: impl Fn(&str) -> String) {
    for (text, expected) in texts {
        assert_eq!(messages(text), *expected, "{text}");
    }
}

/// A syscall with these first arguments.
///
/// # Panics
/// If the architecture does not have it.
pub fn call(arch: Arch, name: &str, args: &[u64]) -> SeccompData {
    let nr = arch.number(name).unwrap_or_else(|| panic!("{arch} has no {name}"));
    let mut data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
    data.args[..args.len()].copy_from_slice(args);
    data
}

/// As many lines as have this size in bytes, at least one.
pub fn repeated_lines(size: usize, mut line: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(size + 200);
    for index in 0.. {
        let _ = writeln!(text, "{}", line(index));
        if text.len() >= size {
            break;
        }
    }
    text
}
