//! Reports of `SIGSYS` that do not name the syscall.

use super::model::kept;
use crate::logs::markers::{Marker, Reported};

/// How many lines may be between such a report and one with the syscall: gdb prints the place before `$_siginfo`, Android the
/// registers before the cause, and systemd the end of a service after the audit record.
const WINDOW: u64 = 40;

/// A report that no report with the syscall explains yet.
pub(super) struct PendingSignal {
    pub(super) line: u64,
    pub(super) found: Marker,
    /// The start of the line.
    pub(super) text: String,
}

/// A report with the syscall.
struct Record {
    line: u64,
    /// The number of the process, if it has it.
    process: Option<u32>,
    /// The kinds of reports that it explained, of other processes or of unknown ones.
    explained: Vec<Kind>,
}

/// Reports of one kind are about different denials. One denial may cause several kinds, for example the end of a service and a
/// dump of its memory.
type Kind = (Reported, &'static str);

fn kind(found: Marker) -> Kind {
    (found.reported, found.text)
}

impl Record {
    /// Whether it explains a report; only one of each kind, unless the report names the process.
    fn explains(&mut self, (reported, marker): Kind, text: &str) -> bool {
        if self.process.is_some_and(|process| has_number(text, process)) {
            return true;
        }
        // The end of a process has several forms.
        let kind = (reported, if reported == Reported::End { "" } else { marker });
        if self.explained.contains(&kind) {
            return false;
        }
        self.explained.push(kind);
        true
    }
}

/// Whether a text has this number.
fn has_number(text: &str, number: u32) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word.parse() == Ok(number))
}

/// The reports near the current line. At most [`WINDOW`] of each kind are kept.
#[derive(Default)]
pub(super) struct PendingSignals {
    pending: Vec<PendingSignal>,
    records: Vec<Record>,
}

impl PendingSignals {
    /// Adds a report, unless a report with the syscall shortly before it explains it.
    pub(super) fn add(&mut self, line: u64, found: Marker, text: &str) {
        let text = kept(text);
        if !self.is_explained(line, kind(found), &text) {
            self.pending.push(PendingSignal { line, found, text });
        }
    }

    /// Whether a report with the syscall explains the end of a process, which no other one may be about then.
    pub(super) fn explains_end(&mut self, line: u64) -> bool {
        self.is_explained(line, (Reported::End, ""), "")
    }

    fn is_explained(&mut self, line: u64, kind: Kind, text: &str) -> bool {
        self.records.retain(|record| record.line + WINDOW >= line);
        self.records.iter_mut().any(|record| record.explains(kind, text))
    }

    /// A report with the syscall: those shortly before it are about the same one.
    pub(super) fn explain(&mut self, line: u64, process: Option<u32>) {
        self.records.retain(|record| record.line + WINDOW >= line);
        let mut record = Record { line, process, explained: Vec::new() };
        self.pending.retain(|signal| !record.explains(kind(signal.found), &signal.text));
        self.records.push(record);
    }

    /// Removes and returns the reports that no line from `line` on can explain.
    pub(super) fn unexplained(&mut self, line: u64) -> impl Iterator<Item = PendingSignal> + use<> {
        let count = self.pending.iter().take_while(|at| at.line + WINDOW < line).count();
        self.pending.drain(..count).collect::<Vec<_>>().into_iter()
    }
}
