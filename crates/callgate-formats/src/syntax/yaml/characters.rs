//! Characters and lines that programs read differently, refused before a text is parsed.
//!
//! YAML 1.1 ends a line, and with it a comment, also at U+0085, U+2028 and U+2029; YAML 1.2 does not. go-yaml, which reads
//! resources for Kubernetes, and PyYAML follow 1.1. So a text could have rules for one program that are part of a comment for
//! another.
//!
//! `kubectl` splits a text at each line that begins with `---` before it parses YAML, wherever in a document the line is.
//!
//! Sources: YAML 1.1, 4.1.4 and 4.2; YAML 1.2.2, 5.1 and 5.4; `scannerc.go` and `readerc.go` of `go.yaml.in/yaml/v2`;
//! `YAMLReader` in `pkg/util/yaml` of `k8s.io/apimachinery`.

use callgate_bpf::diagnostic::{Diagnostic, Position};

/// Refuses the first character or line of a text that programs read differently.
pub(super) fn check(text: &str) -> Result<(), Diagnostic> {
    match text.char_indices().find_map(|(at, c)| Some((at, c, problem(text, at, c)?))) {
        Some((at, c, (name, why, help))) => {
            let named = if name.is_empty() { String::new() } else { format!(" ({name})") };
            let message =
                format!("the text contains the character U+{:04X}{named}, {why}", u32::from(c));
            Err(Diagnostic::error(Some(Position::of(text, at)), message).help(help))
        }
        None => check_markers(text),
    }
}

/// For a character that is not allowed here: its name, why, and what to do.
fn problem(text: &str, at: usize, c: char) -> Option<(&'static str, &'static str, &'static str)> {
    let ends_line = |name| {
        let why = "which ends the line, and so a comment, for some YAML readers (Kubernetes, PyYAML), \
                   but not for others";
        Some((
            name,
            why,
            "remove it, and read what follows it; in double quotes it can be written as an escape, \\N, \\L or \\P",
        ))
    };
    let page_break = |name| {
        let why = "which YAML does not allow, and which some programs take for the end of a line";
        Some((name, why, "remove it, or replace it by a line feed"))
    };
    match c {
        '\t' | '\n' | ' '..='~' => None,
        '\r' if text.as_bytes().get(at + 1) == Some(&b'\n') => None,
        '\r' => Some((
            "carriage return",
            "without a line feed after it: YAML ends the line here, but many programs, such as grep and diff, do not",
            "end lines with a line feed",
        )),
        '\u{85}' => ends_line("next line"),
        '\u{2028}' => ends_line("line separator"),
        '\u{2029}' => ends_line("paragraph separator"),
        '\u{b}' => page_break("vertical tab"),
        '\u{c}' => page_break("form feed"),
        '\u{feff}' if at == 0 => None,
        '\u{feff}' => Some((
            "byte order mark",
            "which some YAML readers skip at the beginning of a line, but others do not",
            "remove it: only the beginning of a text may have one",
        )),
        '\0'..'\u{a0}' | '\u{fffe}' | '\u{ffff}' => Some((
            "",
            "which YAML does not allow",
            "remove it, or write it as an escape in double quotes",
        )),
        _ => None,
    }
}

/// Refuses a line that begins with `---` and is more than the beginning of a document.
fn check_markers(text: &str) -> Result<(), Diagnostic> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let marker = line.strip_prefix("---").map(|rest| rest.trim_end_matches(['\n', '\r']));
        let is_plain = |rest: &str| {
            let after = rest.trim_start_matches([' ', '\t']);
            after.is_empty() || after.len() < rest.len() && after.starts_with('#')
        };
        if marker.is_some_and(|rest| !is_plain(rest)) {
            let message = "this line begins with `---` and goes on: Kubernetes splits the text here, or refuses it, \
                           wherever the line is";
            return Err(Diagnostic::error(Some(Position::of(text, start)), message)
                .help("start the document in the next line, or indent this line"));
        }
        start += line.len();
    }
    Ok(())
}
