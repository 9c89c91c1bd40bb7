//! Compares the output of a command with a session.

use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use callgate_testing::TestResult;

/// The output of a command in the format of the files.
pub(super) fn printed(output: &Output) -> Vec<String> {
    let mut lines = Vec::new();
    for (mark, bytes) in [('>', &output.stdout), ('!', &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        lines.extend(text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned()));
    }
    let status = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
    match status {
        Some(0) => {}
        status => lines.push(format!("? {}", status.unwrap())),
    }
    lines
}

/// The printed lines, each replaced by the expected line if that matches.
pub(super) fn matched(expected: &[&str], printed: &[String]) -> Vec<String> {
    let same_count = expected.len() == printed.len();
    let mut rest = expected.iter();
    printed
        .iter()
        .map(|line| {
            // If the numbers of lines are equal, compare them in pairs; otherwise, find the next that matches.
            let found = if same_count {
                rest.next().filter(|pattern| matches(pattern, line))
            } else {
                rest.clone().find(|pattern| pattern.contains("[..]") && matches(pattern, line))
            };
            found.map_or_else(|| line.clone(), |pattern| (*pattern).to_owned())
        })
        .collect()
}

/// Whether a line matches the pattern, in which `[..]` matches any text.
pub(super) fn matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.split("[..]").collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return pattern == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in between {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The lines that differ.
pub(crate) fn changes(expected: &str, printed: &str) -> String {
    let expected: Vec<&str> = expected.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    let common = expected.iter().zip(&printed).take_while(|(a, b)| a == b).count();
    let tail = expected[common..]
        .iter()
        .rev()
        .zip(printed[common..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = String::new();
    if let Some(line) = expected[..common].iter().rev().find(|line| line.starts_with('$')) {
        text += &format!("   {line}\n");
    }
    for line in &expected[common..expected.len() - tail] {
        text += &format!("  -{line}\n");
    }
    for line in &printed[common..printed.len() - tail] {
        text += &format!("  +{line}\n");
    }
    text
}

/// A test of [`matches`].
pub(crate) fn patterns_match_whole_lines() -> TestResult {
    for (pattern, line, result) in [
        ("> abc", "> abc", true),
        ("> abc", "> abcd", false),
        ("> a[..]", "> a", true),
        ("> a[..]c", "> abbc", true),
        ("> a[..]c", "> ac d", false),
        ("> [..]b[..]d", "> abcd", true),
        ("> [..]b[..]d", "> acbd", true),
        ("> [..]b[..]b", "> ab", false),
    ] {
        assert_eq!(matches(pattern, line), result, "{pattern} / {line}");
    }
    Ok(())
}
