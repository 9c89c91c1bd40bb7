//! The text of an error that filters return, in a line of a program.
//!
//! Programs print the words of `strerror`, its name (`EPERM`) or its number (`errno=1`), mostly at the end. Where somebody gives a
//! line as a report, more may follow: the place in the source code, the name of a file, what a daemon adds.

/// The maximum length of a message in bytes.
pub(super) const MAX_LINE: usize = 1024;

/// The texts of the errors that filters return, in lower case, with the name of the error.
const ERRORS: [(&str, Errno); 3] = [
    ("operation not permitted", Errno::Perm),
    ("permission denied", Errno::Access),
    ("function not implemented", Errno::NoSys),
];

/// Their names and numbers.
const NAMES: [(&str, &str, Errno); 3] =
    [("EPERM", "1", Errno::Perm), ("EACCES", "13", Errno::Access), ("ENOSYS", "38", Errno::NoSys)];

/// What runtimes of containers add to an error.
const TAILS: [&str; 2] = [": OCI permission denied", ": unknown"];

/// An error that filters return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errno {
    Perm,
    Access,
    NoSys,
}

/// An error in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed<'l> {
    /// What is before it, without the mark between them.
    pub(super) before: &'l str,
    pub(super) errno: Errno,
    /// What follows, without the mark between them.
    pub(super) after: &'l str,
}

/// The error that a line ends with, in words.
pub(super) fn at_end(line: &str) -> Option<Failed<'_>> {
    if line.len() > MAX_LINE {
        return None;
    }
    let text = line.trim();
    let text = TAILS.iter().find_map(|tail| text.strip_suffix(tail)).unwrap_or(text);
    // A message in the fields of a log.
    let text = ERRORS
        .iter()
        .find_map(|(words, _)| {
            let at = text.to_ascii_lowercase().find(&format!("{words}\""))?;
            text.get(..at + words.len())
        })
        .unwrap_or(text);
    let text = text.trim_end_matches(['.', '"', '\'', ')', ']']);
    // `(os error 1` of Rust.
    let text = match text.rsplit_once(" (") {
        Some((before, code)) if is_code(code) || code == "are you root?" => before,
        _ => text,
    };
    // `[system:1` of C++.
    let text = match text.rsplit_once(" [") {
        Some((before, code)) if is_code(code) => before,
        _ => text,
    };
    let lower = text.to_ascii_lowercase();
    let (at, errno) = ERRORS
        .iter()
        .find_map(|(words, errno)| Some((lower.strip_suffix(words)?.len(), *errno)))?;
    Some(Failed { before: without_mark(text.get(..at)?), errno, after: "" })
}

/// The error in any place of a line: in words, which a mark must follow, else its name or number. `None` if a line has
/// several.
pub(super) fn within(line: &str) -> Option<Failed<'_>> {
    if line.len() > MAX_LINE {
        return None;
    }
    in_words(line).or_else(|| by_name(line)).or_else(|| by_number(line))
}

fn in_words(line: &str) -> Option<Failed<'_>> {
    let lower = line.to_ascii_lowercase();
    let mut found = ERRORS.iter().flat_map(|(words, errno)| {
        lower.match_indices(words).map(|(at, words)| (at, at + words.len(), *errno))
    });
    let first = found.next()?;
    let (start, end, errno) =
        found.last().filter(|(_, _, errno)| *errno == first.2).unwrap_or(first);
    let after = line.get(end..)?;
    // Words that go on are prose: `operation not permitted when I mount it`.
    let goes_on = after.trim_start().starts_with(|c: char| c.is_alphanumeric());
    (!goes_on).then_some(Failed {
        before: without_mark(line.get(..start)?),
        errno,
        after: after.trim_start_matches(|c| ":,. ".contains(c)),
    })
}

fn by_name(line: &str) -> Option<Failed<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = NAMES.iter().flat_map(|(name, _, errno)| {
        line.match_indices(name).filter_map(|(at, name)| {
            let (before, after) = (line.get(..at)?, line.get(at + name.len()..)?);
            let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
            is_whole.then(|| Failed { before: without_mark(before), errno: *errno, after })
        })
    });
    let only = found.next()?;
    found.all(|other| other.errno == only.errno).then_some(only)
}

/// `failed with errno 1`, `errno=13`, `errno: 38`.
fn by_number(line: &str) -> Option<Failed<'_>> {
    let mut found = line.match_indices("errno").filter_map(|(at, key)| {
        let rest = line.get(at + key.len()..)?;
        let digits = rest.trim_start_matches([' ', '=', ':']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let is_number = digits.len() < rest.len() && end > 0;
        let number = digits.get(..end).filter(|_| is_number)?;
        let errno = NAMES.iter().find(|(_, code, _)| *code == number).map(|(_, _, errno)| *errno);
        Some((without_mark(line.get(..at)?), errno))
    });
    let (before, errno) = found.next()?;
    let is_alone = found.next().is_none();
    errno.filter(|_| is_alone).map(|errno| Failed { before, errno, after: "" })
}

/// What is before an error, without the mark between them and without `[Errno 1] ` of Python.
fn without_mark(before: &str) -> &str {
    let before = before.trim_end();
    let before = before.rsplit_once("[Errno ").map_or(before, |(before, _)| before.trim_end());
    let before = before.trim_end_matches(['(', ' ', '\'', '"']);
    before.trim_end_matches(|c| ":-–,=".contains(c)).trim_end()
}

fn is_code(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || " :=".contains(c));
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<(&str, Errno, &str)> {
        at_end(line)
            .or_else(|| within(line))
            .map(|Failed { before, errno, after }| (before, errno, after))
    }

    #[test]
    fn the_error_is_found_in_words_by_name_and_by_number() {
        for (line, before, errno, after) in [
            ("x: Operation not permitted", "x", Errno::Perm, ""),
            ("x: operation not permitted: unknown", "x", Errno::Perm, ""),
            ("x: y: Operation not permitted: OCI permission denied", "x: y", Errno::Perm, ""),
            ("x: Permission denied (os error 13)", "x", Errno::Access, ""),
            (
                "panicked at 'x: Operation not permitted (os error 1)', src/a.rs:3:1",
                "panicked at 'x",
                Errno::Perm,
                "(os error 1)', src/a.rs:3:1",
            ),
            ("[Errno 1] Operation not permitted: '/x'", "", Errno::Perm, "'/x'"),
            ("EPERM: operation not permitted, mkdir '/x'", "EPERM", Errno::Perm, "mkdir '/x'"),
            ("x failed with EPERM: try y", "x failed with", Errno::Perm, ": try y"),
            ("x() failed (ENOSYS)", "x() failed", Errno::NoSys, ")"),
            ("x failed with errno 1", "x failed with", Errno::Perm, ""),
            ("x failed, errno=38", "x failed", Errno::NoSys, ""),
        ] {
            assert_eq!(found(line), Some((before, errno, after)), "{line}");
        }
        for line in [
            "",
            "x",
            "I get operation not permitted when I mount it",
            "EPERM and EACCES differ",
            "REPERM",
            "EPERMANENT",
            "x failed with errno 2",
            "x failed with errno 11",
            "errno 1, later errno 2",
            "errnoX 1",
            "errno",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        assert_eq!(found(&format!("{}: Operation not permitted", "x".repeat(MAX_LINE))), None);
    }
}
