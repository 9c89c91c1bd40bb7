//! Detects the format of a text that arrives in pieces.
//!
//! JSON is recognized by its first characters. Any other text is a log or a table. Any of its lines, even the last, may
//! tell which; therefore all readers read every line until one of them recognizes its format.

use super::split::{LogLines, Part, TextPart, TextSplitter};
use crate::counts::table::CountTable;
use crate::logs::audit::AuditLog;
use crate::logs::lines::{Line, MAX_REJECTED_LINES};
use crate::logs::programs::LogPrograms;
use crate::logs::selection::Selection;
use crate::logs::strace::{ParsedLine, StraceLog};
use crate::names::unknown_severity;
use crate::recording::Recording;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Help, Position};
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::Messages;

/// Reads a text and detects its format.
pub(crate) struct FormatDetector {
    splitter: TextSplitter,
    candidates: Candidates,
    /// What to do about errors that have no help of their own.
    help: Help,
}

/// A complete text in its format.
pub(crate) enum DetectedFormat {
    Json(String),
    Audit(Box<AuditLog>),
    Strace(Box<StraceLog>),
    Counts(Box<CountTable>),
}

/// The text if it is JSON, and a reader for each format of logs and tables.
struct Candidates {
    json: Option<String>,
    audit: AuditLog,
    strace: StraceLog,
    counts: CountTable,
    /// Whether a table takes precedence over the log around it.
    prefers_tables: bool,
    /// The line that exceeded [`MAX_REJECTED_LINES`], from which on only audit records are read.
    rejected_at: Option<Position>,
}

impl FormatDetector {
    /// A detector. `arch` is the architecture of logs that do not name one; with `strict`, unknown names are errors;
    /// with `prefers_tables`, a table in a log takes precedence over the log. `help` is for errors that have none.
    pub(crate) fn new(
        arch: Arch,
        strict: bool,
        prefers_tables: bool,
        help: impl Into<Help>,
    ) -> FormatDetector {
        let unknown = unknown_severity(strict);
        let candidates = Candidates {
            json: None,
            audit: AuditLog::new(unknown),
            strace: StraceLog::new(arch, unknown),
            counts: CountTable::new(unknown),
            prefers_tables,
            rejected_at: None,
        };
        FormatDetector { splitter: TextSplitter::default(), candidates, help: help.into() }
    }

    /// Reads only these audit records.
    pub(crate) fn select(&mut self, selection: Selection) {
        self.candidates.audit.select(selection);
    }

    /// Adds a piece of the text.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Diagnostics> {
        // If a part is an error, it is the last one.
        let mut result = Ok(());
        self.splitter.push(bytes, &mut |part| result = self.candidates.add(part));
        result.map_err(|error| self.with_help(error))
    }

    /// Adds the next part of a text that another splitter split.
    pub(crate) fn add(&mut self, part: &mut TextPart) -> Result<(), Diagnostics> {
        self.candidates.add(part).map_err(|error| self.with_help(error))
    }

    /// The complete text in its format.
    pub(crate) fn finish(mut self) -> Result<DetectedFormat, Diagnostics> {
        let mut result = Ok(());
        let splitter = std::mem::take(&mut self.splitter);
        splitter.finish(&mut |part| result = self.candidates.add(part));
        match result {
            Ok(()) => Ok(self.candidates.detected()),
            Err(error) => Err(self.with_help(error)),
        }
    }

    fn with_help(&self, error: Diagnostic) -> Diagnostics {
        if error.help.is_empty() { error.help(self.help.clone()) } else { error }.into()
    }
}

impl Candidates {
    fn add(&mut self, TextPart(part): &mut TextPart) -> Result<(), Diagnostic> {
        match part {
            Part::Lines(lines) => {
                lines.parse();
                self.lines(lines);
            }
            Part::Json(text) => self.json = Some(std::mem::take(text)),
            Part::Failed(error) => return Err(error.clone()),
        }
        Ok(())
    }

    fn lines(&mut self, lines: &LogLines) {
        let block = lines.block();
        // A strace log has no such messages.
        let with_messages = self.audit.is_detected() || !self.strace.is_detected();
        let may_have_records = self.audit.may_have_records(block, with_messages);
        if self.rejected_at.is_some() && !may_have_records {
            return;
        }
        self.strace.begin(block);
        self.counts.begin(block);
        for (line, parsed) in lines.lines() {
            if may_have_records {
                self.audit.line(line);
            }
            if self.rejected_at.is_some() {
                continue;
            }
            let (is_audit, is_strace) = (self.audit.is_detected(), self.strace.is_detected());
            if is_audit || is_strace {
                if !is_audit {
                    self.strace.line(line, parsed);
                }
                if self.prefers_tables {
                    self.counts.line_of_log(line);
                }
            } else if !self.is_repeated_count(line) {
                self.undecided(line, parsed);
            }
            if self.rejected() > MAX_REJECTED_LINES {
                self.rejected_at = Some(line.position(0));
            }
        }
    }

    /// Reads a line while the format is not known.
    fn undecided(&mut self, line: Line<'_>, parsed: &ParsedLine) {
        self.strace.line(line, parsed);
        if !self.strace.is_detected() {
            self.counts.line(line);
        } else if self.prefers_tables {
            self.counts.line_of_log(line);
        }
    }

    /// The number of lines so far that are errors or have unknown names in the probable format.
    fn rejected(&self) -> usize {
        match (self.audit.is_detected(), self.strace.is_detected()) {
            (true, _) => 0,
            (_, true) => self.strace.rejected(),
            _ => self.counts.rejected(),
        }
    }

    /// Whether a line is another count of a name that was counted before; if so, the count is added. Such a line
    /// cannot decide the format: for the reader of strace it is one more line to skip.
    fn is_repeated_count(&mut self, line: Line<'_>) -> bool {
        self.strace.has_skipped() && self.counts.add_repeated(line.text) && {
            self.strace.skip();
            true
        }
    }

    fn detected(mut self) -> DetectedFormat {
        if let Some(text) = self.json {
            return DetectedFormat::Json(text);
        }
        if let Some(position) = self.rejected_at {
            self.counts.give_up(position);
            self.strace.give_up(position);
        }
        let is_table = self.prefers_tables && self.counts.has_tables();
        if is_table {
            DetectedFormat::Counts(Box::new(self.counts))
        } else if self.audit.is_detected() {
            DetectedFormat::Audit(Box::new(self.audit))
        } else if self.strace.is_detected() {
            DetectedFormat::Strace(Box::new(self.strace))
        } else {
            DetectedFormat::Counts(Box::new(self.counts))
        }
    }
}

/// A recording, and warnings about its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRecording {
    /// The syscalls.
    pub recording: Recording,
    /// Warnings about what was ignored, in the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// The programs of an audit log.
    pub programs: LogPrograms,
}

/// A recording, unless there are errors or it is empty.
pub(crate) fn checked(
    recording: Recording,
    mut messages: Messages,
) -> Result<ReadRecording, Diagnostics> {
    if !messages.failed() && recording.is_empty() {
        messages
            .error(Position { line: 1, column: 1 }, "no syscalls in this file")
            .set_help(Advice::SupportedRecordings);
    }
    let failed = messages.failed();
    let messages = messages.finish();
    match failed {
        true => Err(messages.into()),
        false => {
            let programs = LogPrograms::default();
            Ok(ReadRecording { recording, warnings: messages, programs })
        }
    }
}
