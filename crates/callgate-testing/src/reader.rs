//! What tests of readers share: messages and syscalls as text.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity};
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

/// What a reader made of a text.
///
/// # Panics
/// If it refused the text.
pub fn valid<T>(text: &str, read: Result<T, Diagnostics>) -> T {
    read.unwrap_or_else(|messages| panic!("{text}\n{}", lines(&messages)))
}

/// The errors for which a reader refused a text, as [`lines`].
///
/// # Panics
/// If it did not.
pub fn invalid<T>(text: &str, read: Result<T, Diagnostics>) -> String {
    match read {
        Ok(_) => panic!("valid: {text}"),
        Err(messages) => error_lines(&messages),
    }
}

/// The texts of a table and the messages about them. Each text has a line, and its messages follow with four blanks before
/// them. A text in quotes, and all messages, may have the escapes `\n`, `\r`, `\t` and `\0`.
pub fn cases(table: &str) -> Vec<(String, String)> {
    let unescaped = |text: &str| {
        let escapes = [("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\0", "\0")];
        escapes.iter().fold(text.to_owned(), |text, (escape, c)| text.replace(escape, c))
    };
    let mut cases: Vec<(String, String)> = Vec::new();
    for line in table.lines().skip(1) {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(message), Some((_, messages))) => {
                let separator = if messages.is_empty() { "" } else { "\n" };
                *messages += &format!("{separator}{}", unescaped(message));
            }
            _ => {
                let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                cases.push((quoted.map_or(line.to_owned(), unescaped), String::new()));
            }
        }
    }
    cases
}

/// Checks the messages about each text of a table ([`cases`]).
///
/// # Panics
/// If they are not the expected ones.
pub fn expect_messages(table: &str, messages: impl Fn(&str) -> String) {
    for (text, expected) in cases(table) {
        assert_eq!(messages(&text), expected, "{text}");
    }
}

/// A syscall with these first arguments.
///
/// # Panics
/// If the architecture does not have it.
pub fn call(arch: Arch, name: &str, args: &[u64]) -> SeccompData {
    let nr = arch.number(name).unwrap_or_else(|| panic!("{arch} has no {name}"));
    numbered(arch, nr, args)
}

/// A syscall by its number, with these first arguments.
pub fn numbered(arch: Arch, nr: u32, args: &[u64]) -> SeccompData {
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
