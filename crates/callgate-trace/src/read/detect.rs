//! Detects the format of a text that arrives in pieces.
//!
//! JSON is recognized by its first characters. Any other text is a log or a table. Any of its lines, even the last, may
//! tell which; therefore all readers read every line until one of them recognizes its format.

use crate::counts::table::CountTable;
use crate::logs::audit::AuditLog;
use crate::logs::lines::{Block, Line, LineSplitter, MAX_REJECTED_LINES, text_of};
use crate::logs::strace::StraceLog;
use crate::names::unknown_severity;
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::syscalls::Arch;

/// The largest text in JSON in bytes. Recordings of commands that ran for days have about 100 kB.
const MAX_JSON: usize = 64 << 20;

/// Reads a text and detects its format.
pub(crate) struct FormatDetector {
    /// The text so far, until it is known not to be JSON.
    start: Option<TextStart>,
    lines: LineSplitter,
    candidates: Candidates,
}

/// A complete text in its format.
pub(crate) enum DetectedFormat {
    Json(String),
    Audit(AuditLog),
    Strace(StraceLog),
    Counts(CountTable),
}

/// A reader for each format of logs and tables.
struct Candidates {
    audit: AuditLog,
    strace: StraceLog,
    counts: CountTable,
    /// Whether a table takes precedence over the log around it.
    prefers_tables: bool,
    /// Where [`MAX_REJECTED_LINES`] was exceeded.
    rejected_at: Option<Position>,
}

impl FormatDetector {
    /// A detector. `arch` is the architecture of logs that do not name one; with `strict`, unknown names are errors;
    /// with `prefers_tables`, a table in a log takes precedence over the log.
    pub(crate) fn new(arch: Arch, strict: bool, prefers_tables: bool) -> FormatDetector {
        let unknown = unknown_severity(strict);
        FormatDetector {
            start: Some(TextStart::default()),
            lines: LineSplitter::default(),
            candidates: Candidates {
                audit: AuditLog::new(unknown),
                strace: StraceLog::new(arch, unknown),
                counts: CountTable::new(unknown),
                prefers_tables,
                rejected_at: None,
            },
        }
    }

    /// Adds a piece of the text.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let Some(start) = &mut self.start else {
            return self.lines.push(bytes, &mut |block| self.candidates.block(block));
        };
        start.bytes.extend_from_slice(bytes);
        match start.is_json() {
            Some(false) => self.read_as_lines(),
            Some(true) if start.bytes.len() > MAX_JSON => Err(too_long()),
            // 64 MiB of blanks are not JSON.
            None if start.bytes.len() > MAX_JSON => self.read_as_lines(),
            _ => Ok(()),
        }
    }

    /// Reads the text so far, which is not JSON, line by line.
    fn read_as_lines(&mut self) -> Result<(), Diagnostic> {
        let start = self.start.take().unwrap_or_default();
        self.lines.push(&start.bytes, &mut |block| self.candidates.block(block))
    }

    /// The complete text in its format.
    pub(crate) fn finish(mut self) -> Result<DetectedFormat, Diagnostic> {
        if let Some(mut start) =
            self.start.take_if(|start| start.is_json().unwrap_or(start.is_list))
        {
            let bytes = std::mem::take(&mut start.bytes);
            return text_of(bytes).map(DetectedFormat::Json);
        }
        self.read_as_lines()?;
        self.lines.finish(&mut |block| self.candidates.block(block))?;
        Ok(self.candidates.detected())
    }
}

fn too_long() -> Diagnostic {
    let message =
        format!("this JSON is larger than {} MiB, the limit for a recording", MAX_JSON >> 20);
    Diagnostic::error(Some(Position { line: 1, column: 1 }), message)
        .help("recordings are far smaller; check whether this file is one")
}

impl Candidates {
    fn block(&mut self, block: Block<'_>) {
        let may_have_records = self.audit.may_have_records(block);
        if self.rejected_at.is_some() {
            if may_have_records {
                block.lines().for_each(|line| self.audit.line(line));
            }
            return;
        }
        // Millions of empty lines mean the same as one.
        let is_empty = block.text.bytes().all(|byte| byte == b'\n');
        let block = if is_empty { block.first_line() } else { block };
        self.strace.begin(block);
        self.counts.begin(block);
        for line in block.lines() {
            if may_have_records {
                self.audit.line(line);
            }
            let (is_audit, is_strace) = (self.audit.is_detected(), self.strace.is_detected());
            if is_audit || is_strace {
                if !is_audit {
                    self.strace.line(line);
                }
                if self.prefers_tables {
                    self.counts.line_of_log(line);
                }
            } else if !self.is_repeated_count(line) {
                self.undecided(line);
            }
        }
        let rejected = match (self.audit.is_detected(), self.strace.is_detected()) {
            (true, _) => 0,
            (_, true) => self.strace.rejected(),
            _ => self.counts.rejected(),
        };
        if rejected > MAX_REJECTED_LINES {
            self.rejected_at = Some(Position { line: block.number, column: 1 });
        }
    }

    /// Reads a line while the format is not known.
    fn undecided(&mut self, line: Line<'_>) {
        self.strace.line(line);
        if !self.strace.is_detected() {
            self.counts.line(line);
        } else if self.prefers_tables {
            self.counts.line_of_log(line);
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
        if let Some(position) = self.rejected_at {
            self.counts.give_up(position);
            self.strace.give_up(position);
        }
        let is_table = self.prefers_tables && self.counts.has_tables();
        if is_table {
            DetectedFormat::Counts(self.counts)
        } else if self.audit.is_detected() {
            DetectedFormat::Audit(self.audit)
        } else if self.strace.is_detected() {
            DetectedFormat::Strace(self.strace)
        } else {
            DetectedFormat::Counts(self.counts)
        }
    }
}

/// The start of a text that may be JSON.
#[derive(Default)]
struct TextStart {
    bytes: Vec<u8>,
    /// How many bytes were examined.
    seen: usize,
    /// Whether they contain an opening bracket.
    is_list: bool,
}

impl TextStart {
    /// Whether the text is JSON; `None` while this is not known. A list of objects is JSON too, and an error is reported
    /// for it later. Lines of logs may start with a bracket and a word or a number: `[pid 12]`, `[   12.345678]`.
    fn is_json(&mut self) -> Option<bool> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        loop {
            let rest = self.bytes.get(self.seen..).unwrap_or_default();
            self.seen += match rest.first()? {
                byte if byte.is_ascii_whitespace() => 1,
                _ if rest.starts_with(MARK) => MARK.len(),
                _ if MARK.starts_with(rest) => return None,
                b'{' => return Some(true),
                b'[' if !self.is_list => {
                    self.is_list = true;
                    1
                }
                first => return Some(self.is_list && matches!(first, b'[' | b'"' | b']')),
            };
        }
    }
}
