//! What the languages make edits from, and edits of a text.

use std::collections::BTreeSet;
use std::ops::Range;

use super::verify::Allowed;
use crate::statements::{Site, Statement, Statements};
use crate::why::{Cause, Why};
use callgate_bpf::diagnostic::Position;
use callgate_core::{Action, Verdict};

/// What the languages make edits from.
#[derive(Clone, Copy)]
pub struct EditInput<'a> {
    /// What the text is in its source.
    pub(crate) role: &'a str,
    pub(crate) text: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) statements: &'a Statements,
    pub(crate) why: &'a Why<'a>,
    /// What the edits are to allow.
    pub(crate) wanted: &'a Allowed,
    pub(crate) offsets: &'a Offsets<'a>,
}

impl<'a> EditInput<'a> {
    /// The byte offset of a place in this text; `None` if it is in another one.
    pub(crate) fn offset(&self, site: &Site) -> Option<usize> {
        let is_here = site.file.as_deref() == self.file;
        is_here.then(|| self.offsets.of(site.position)).flatten()
    }

    /// The offset of the default action.
    pub(crate) fn default_at(&self) -> Option<usize> {
        self.statements.default.as_ref().and_then(|site| self.offset(site))
    }

    /// The places of rules in this text.
    pub(crate) fn places<'s>(
        &self,
        rules: impl IntoIterator<Item = &'s Statement>,
    ) -> BTreeSet<usize> {
        rules.into_iter().filter_map(|rule| self.offset(&rule.site)).collect()
    }

    /// The places of the rules that deny the syscall.
    pub(crate) fn denying(&self) -> BTreeSet<usize> {
        match &self.why.cause {
            Cause::Rules(rules) => self.places(rules.iter().copied()),
            _ => BTreeSet::new(),
        }
    }

    /// The places of the rules about the syscall whose conditions its arguments do not meet.
    pub(crate) fn unmet(&self) -> BTreeSet<usize> {
        self.places(self.why.unmet.iter().copied())
    }

    /// The places of the rules that allow a syscall with all arguments.
    pub(crate) fn allowing(&self) -> BTreeSet<usize> {
        let rules = self.statements.rules.iter();
        self.places(rules.filter(|rule| rule.when.is_always() && is_allow(rule.verdict)))
    }
}

fn is_allow(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::Allow)
}

/// A value in a condition.
pub(crate) fn number(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The byte offset of the part.
    pub at: usize,
    /// The length of the part in bytes; 0 inserts.
    pub removed: usize,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Inserts a text.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit { at, removed: 0, text: text.into() }
    }

    /// Removes the text between two offsets.
    pub(crate) fn remove(from: usize, to: usize) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: String::new() }
    }

    /// Replaces the text between two offsets.
    pub(crate) fn replace(from: usize, to: usize, text: impl Into<String>) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: text.into() }
    }
}

/// Edits that may allow a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
    /// What they are to allow: the wanted syscall, perhaps with other arguments, too.
    pub allowed: Allowed,
}

/// The text after these edits; `None` if they overlap or are not at characters of the text.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.at);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for edit in sorted {
        changed.push_str(text.get(done..edit.at)?);
        changed.push_str(&edit.text);
        done = edit.at.checked_add(edit.removed)?;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

/// The line with an offset, and the lines that continue it after a `\`, without the last line break.
pub(crate) fn logical_line(text: &str, at: usize) -> Range<usize> {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let mut end = start;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        end += line.len();
        if !line.trim_end_matches('\r').ends_with('\\') || end >= text.len() {
            return start..end;
        }
        end += 1;
    }
}

/// Removes a line with its line break.
pub(crate) fn without_line(text: &str, line: Range<usize>) -> Edit {
    Edit::remove(line.start, (line.end + 1).min(text.len()))
}

/// Adds a line after another one.
pub(crate) fn line_after(text: &str, line: &Range<usize>, added: &str) -> Edit {
    let has_break = text.get(line.clone()).is_some_and(|line| line.ends_with('\r'));
    let end = if has_break { line.end - 1 } else { line.end };
    let eol = if has_break { "\r\n" } else { "\n" };
    Edit::insert(end, format!("{eol}{added}"))
}

/// Adds a line at the end.
pub(crate) fn line_at_end(text: &str, added: &str) -> Edit {
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let missing = if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    Edit::insert(text.len(), format!("{missing}{added}{eol}"))
}

/// The maximum number of characters that are counted for a position: after each of these, an offset is kept.
const STEP: usize = 256;

/// An index of a text, made in one pass: a profile can have a rule at each of 100,000 positions of one line.
pub(crate) struct Offsets<'t> {
    text: &'t str,
    /// For each line, the index of its first mark; at last, the number of marks.
    lines: Vec<usize>,
    /// The offsets of the first character of each line and of every [`STEP`]th one after it.
    marks: Vec<usize>,
}

/// Byte order marks have no column.
fn has_column(c: char) -> bool {
    c != '\u{feff}'
}

impl<'t> Offsets<'t> {
    pub(crate) fn new(text: &'t str) -> Offsets<'t> {
        let (mut lines, mut marks) = (Vec::new(), Vec::new());
        let mut start = 0;
        for line in text.split('\n') {
            lines.push(marks.len());
            marks.push(start);
            // The line break has a column, too.
            let end = text.len().min(start + line.len() + 1);
            let line = text.get(start..end).unwrap_or_default();
            let columns = line.char_indices().filter(|(_, c)| has_column(*c));
            marks.extend(columns.step_by(STEP).skip(1).map(|(at, _)| start + at));
            start = end;
        }
        lines.push(marks.len());
        Offsets { text, lines, marks }
    }

    /// The byte offset of a position; `None` if the text does not have it.
    pub(crate) fn of(&self, position: Position) -> Option<usize> {
        let line = position.line.checked_sub(1)? as usize;
        let column = position.column.checked_sub(1)? as usize;
        let (first, next) = (*self.lines.get(line)?, *self.lines.get(line + 1)?);
        let (mark, rest) = (first + column / STEP, column % STEP);
        if mark >= next {
            return (next == self.marks.len()).then_some(self.text.len());
        }
        let start = *self.marks.get(mark)?;
        let behind = self.text.get(start..)?;
        let mut columns = behind.char_indices().filter(|(_, c)| has_column(*c));
        Some(start + columns.nth(rest).map_or(behind.len(), |(at, _)| at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_the_order_of_the_text() {
        let edits = [Edit::insert(3, "!"), Edit::replace(0, 1, "X")];
        assert_eq!(apply("abc", &edits).as_deref(), Some("Xbc!"));
        assert_eq!(apply("abc", &[Edit::remove(0, 2), Edit::insert(1, "x")]), None);
        assert_eq!(apply("é", &[Edit::insert(1, "x")]), None);
        assert_eq!(apply("abc", &[Edit::insert(4, "x")]), None);
    }

    #[test]
    fn continued_lines_are_one() {
        let text = "a\nb \\\n c\nd";
        assert_eq!(logical_line(text, 2), 2..8);
        assert_eq!(logical_line(text, 0), 0..1);
        assert_eq!(logical_line(text, 9), 9..10);
        assert_eq!(logical_line("a\\", 0), 0..2);
        let removed = apply(text, &[without_line(text, 2..8)]);
        assert_eq!(removed.as_deref(), Some("a\nd"));
    }

    #[test]
    fn added_lines_have_the_line_break_of_the_text() {
        let added = |text: &str| apply(text, &[line_after(text, &logical_line(text, 0), "x")]);
        assert_eq!(added("a\r\nb\r\n").as_deref(), Some("a\r\nx\r\nb\r\n"));
        assert_eq!(added("a\nb").as_deref(), Some("a\nx\nb"));
        assert_eq!(apply("a", &[line_at_end("a", "x")]).as_deref(), Some("a\nx\n"));
        assert_eq!(
            apply("a\r\nb", &[line_at_end("a\r\nb", "x")]).as_deref(),
            Some("a\r\nb\r\nx\r\n")
        );
    }

    #[test]
    fn positions_are_offsets() {
        let long = "é".repeat(3 * STEP) + "\n" + &"x".repeat(STEP) + "\ny";
        for text in ["ab\ncé x\n", "\u{feff}ab\ncé x\n", &long] {
            let offsets = Offsets::new(text);
            for (at, _) in text.char_indices().filter(|(_, c)| has_column(*c)) {
                assert_eq!(offsets.of(Position::of(text, at)), Some(at), "{at}");
            }
        }
        assert_eq!(Offsets::new("a\n").of(Position { line: 3, column: 1 }), None);
    }
}
