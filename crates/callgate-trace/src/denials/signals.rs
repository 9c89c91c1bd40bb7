//! Reports of `SIGSYS` that do not name the syscall.

use super::model::kept;
use crate::logs::markers::Reported;

/// How many lines may be between such a report and one with the syscall: gdb prints the place before `$_siginfo`, Android the
/// registers before the cause, and systemd the end of a service after the audit record.
const WINDOW: u64 = 40;

/// A report that no report with the syscall explains yet.
pub(super) struct PendingSignal {
    pub(super) line: u64,
    reported: Reported,
    pub(super) why: &'static str,
    /// The start of the line.
    pub(super) text: String,
}

/// A report with the syscall.
struct Record {
    line: u64,
    /// Whether it explained the end of a process.
    has_end: bool,
}

/// The reports near the current line. At most [`WINDOW`] of each kind are kept.
#[derive(Default)]
pub(super) struct PendingSignals {
    pending: Vec<PendingSignal>,
    records: Vec<Record>,
}

impl PendingSignals {
    /// Adds a report, unless a report with the syscall shortly before it explains it. One of these explains the end of one
    /// process, and any number of other reports.
    pub(super) fn add(&mut self, line: u64, reported: Reported, why: &'static str, text: &str) {
        self.records.retain(|record| record.line + WINDOW >= line);
        let is_explained = match reported {
            Reported::End => match self.records.iter_mut().find(|record| !record.has_end) {
                Some(record) => {
                    record.has_end = true;
                    true
                }
                None => false,
            },
            _ => !self.records.is_empty(),
        };
        if !is_explained {
            let text = kept(text);
            self.pending.push(PendingSignal { line, reported, why, text });
        }
    }

    /// A report with the syscall: those shortly before it are about the same one.
    pub(super) fn explain(&mut self, line: u64) {
        self.records.retain(|record| record.line + WINDOW >= line);
        let mut has_end = false;
        self.pending.retain(|signal| {
            let is_second = signal.reported == Reported::End && has_end;
            has_end |= signal.reported == Reported::End;
            is_second
        });
        self.records.push(Record { line, has_end });
    }

    /// Removes and returns the reports that no line from `line` on can explain.
    pub(super) fn unexplained(&mut self, line: u64) -> impl Iterator<Item = PendingSignal> + use<> {
        let count = self.pending.iter().take_while(|at| at.line + WINDOW < line).count();
        self.pending.drain(..count).collect::<Vec<_>>().into_iter()
    }
}
