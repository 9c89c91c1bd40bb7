//! Which form a text has that comes in pieces. JSON is known by its first characters. A text that is none
//! is a log or a table, and which of them its lines say, the last as well as the first: so all that it may be read
//! it, until one of them knows.

use super::reader::Options;
use crate::counts::table;
use crate::logs::lines::{Block, Line, Lines, text_of};
use crate::logs::{audit, strace};
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// How long a text in JSON may be in bytes: those of commands that ran for days have some 100 kB.
const MAX_JSON: usize = 64 << 20;

/// A text so far.
pub(crate) struct Text {
    /// What is kept, until it is known that it is a log.
    start: Option<Start>,
    lines: Lines,
    logs: Logs,
}

/// What a text is.
pub(crate) enum Form {
    Json(String),
    Audit(audit::Log),
    Strace(strace::Log),
    Counts(table::Log),
}

struct Logs {
    audit: audit::Log,
    strace: strace::Log,
    counts: table::Log,
    /// Tables count, not the logs around them.
    prefers_tables: bool,
}

impl Text {
    /// A text of which nothing is known. Where `prefers_tables`, tables in a log are what counts.
    pub(crate) fn new(options: &Options, prefers_tables: bool) -> Text {
        let unknown = options.unknown();
        Text {
            start: Some(Start::default()),
            lines: Lines::default(),
            logs: Logs {
                audit: audit::Log::new(unknown),
                strace: strace::Log::new(options.arch, unknown),
                counts: table::Log::new(unknown),
                prefers_tables,
            },
        }
    }

    /// More of it.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        let Some(start) = &mut self.start else {
            return self.lines.push(bytes, &mut |block| self.logs.block(block));
        };
        start.bytes.extend_from_slice(bytes);
        match start.is_json() {
            Some(false) => self.is_log(),
            Some(true) if start.bytes.len() > MAX_JSON => Err(too_long()),
            // So many blanks are no JSON that anybody has.
            None if start.bytes.len() > MAX_JSON => self.is_log(),
            _ => Ok(()),
        }
    }

    /// What was kept so far is not JSON.
    fn is_log(&mut self) -> Result<(), Diagnostic> {
        let start = self.start.take().unwrap_or_default();
        self.lines.push(&start.bytes, &mut |block| self.logs.block(block))
    }

    /// The whole of it.
    pub(crate) fn end(mut self) -> Result<Form, Diagnostic> {
        if let Some(mut start) =
            self.start.take_if(|start| start.is_json().unwrap_or(start.is_list))
        {
            let bytes = std::mem::take(&mut start.bytes);
            return text_of(bytes).map(Form::Json);
        }
        self.is_log()?;
        self.lines.finish(&mut |block| self.logs.block(block))?;
        Ok(self.logs.form())
    }
}

fn too_long() -> Diagnostic {
    let message = format!(
        "this text in JSON has more than {} MiB, the limit for a recording",
        MAX_JSON >> 20
    );
    Diagnostic::error(Some(Position { line: 1, column: 1 }), message)
        .help("recordings are far smaller; check what file this is")
}

impl Logs {
    fn block(&mut self, block: Block<'_>) {
        let may_have_records = self.audit.may_have_records(block);
        self.strace.begin(block);
        for line in block.lines() {
            if may_have_records {
                self.audit.line(line);
            }
            let (is_audit, is_strace) = (self.audit.is_log(), self.strace.is_log());
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
    }

    /// A line of which no reader knows yet whether it is its own, or that tells it.
    fn undecided(&mut self, line: Line<'_>) {
        self.strace.line(line);
        if !self.strace.is_log() {
            self.counts.line(line);
        } else if self.prefers_tables {
            self.counts.line_of_log(line);
        }
    }

    /// Whether a line is another count of a call that was counted before, which is then added. Such a line is
    /// nothing new to any reader: for the one of strace it is one more that is skipped.
    fn is_repeated_count(&mut self, line: Line<'_>) -> bool {
        self.strace.has_skipped() && self.counts.repeated(line.text) && {
            self.strace.skip();
            true
        }
    }

    fn form(self) -> Form {
        let is_table = self.prefers_tables && self.counts.has_tables();
        if is_table {
            Form::Counts(self.counts)
        } else if self.audit.is_log() {
            Form::Audit(self.audit)
        } else if self.strace.is_log() {
            Form::Strace(self.strace)
        } else {
            Form::Counts(self.counts)
        }
    }
}

/// The start of a text, as far as it may be JSON.
#[derive(Default)]
struct Start {
    bytes: Vec<u8>,
    /// How many bytes were looked at.
    seen: usize,
    /// They have an opening bracket.
    is_list: bool,
}

impl Start {
    /// Whether a text is meant as JSON: a list of objects, too, which is no recording. Lines of other logs begin
    /// with a bracket and a word or a number: `[pid 12]`, `[   12.345678]`. `None`: it is not known yet.
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
