//! Tables of counts: two columns, `strace -c` and `perf trace -s`.
//!
//! A line with the words `calls` and `syscall` (or `name`) is the header of a table; its words name the columns. If a
//! line of dashes follows the header, the table ends with another such line (strace) or an empty line (perf). If a text
//! has a table, lines outside all tables are not counts.
//!
//! The lines of a table may be numbered, as in a document. A row of dots stands for rows that are left out, with a
//! warning.
//!
//! strace leaves the column `errors` empty for syscalls that never failed; with `--errno-summary`, perf adds lines such
//! as `ENOENT: 19` below a row.
//!
//! Sources: `call_summary_pers` in strace's `count.c`, `thread__dump_stats` in the kernel's
//! `tools/perf/builtin-trace.c`, and the output of strace 6.1 and perf 6.1.

use super::words::{
    Field, MAX_WORDS, WordBuffer, Words, has_three_words, number as number_of, word_and_number,
};
use crate::logs::lines::{Block, Line, rejected_lines, too_many_rejected};
use crate::names::{or_ignored, unknown_name};
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Help;
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls;
use callgate_formats::diagnostics::messages::{Messages, Report};
use callgate_formats::diagnostics::quote::shorten;
use memchr::{memchr, memmem::Finder};
use rustc_hash::FxHashMap;

/// An error in a line, and its offset there. The message is formatted only if it is reported.
struct LineError<'t> {
    at: usize,
    problem: Problem<'t>,
}

enum Problem<'t> {
    /// A number of columns other than two.
    Columns(usize),
    /// A number of columns that differs from the header.
    Row {
        given: usize,
        columns: usize,
    },
    TooLarge(Row<'t>),
    Negative(Row<'t>),
    NoCount(Row<'t>),
}

impl Problem<'_> {
    fn message(&self) -> String {
        match self {
            Problem::Columns(given) => format!("expected 2 columns, found {given}"),
            Problem::Row { given, columns } => {
                format!("expected {columns} columns as in the header, found {given}")
            }
            Problem::TooLarge(Row { name, count }) => {
                let (name, count) = (shorten(name.text), shorten(count.text));
                format!("the count of {name} is larger than 1.7e308, the limit: {count}")
            }
            Problem::Negative(Row { name, count }) => {
                format!("the count of {} is negative: {}", shorten(name.text), shorten(count.text))
            }
            Problem::NoCount(Row { count, .. }) => {
                format!("\"{}\" is not a count", shorten(count.text))
            }
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Problem::Columns(_) => "write the name of a syscall and its count",
            Problem::Row { .. } => {
                "give the complete table as strace -c or perf trace -s prints it"
            }
            _ => "a count is a decimal number from 0 to 1.7e308, such as 42",
        }
    }
}

/// The name and the count in a line.
#[derive(Clone, Copy)]
struct Row<'t> {
    name: Field<'t>,
    count: Field<'t>,
}

type Result<'t, T> = std::result::Result<T, LineError<'t>>;

/// Where the next line is.
#[derive(Clone, Copy)]
enum Section {
    /// Outside all tables.
    Outside,
    /// Directly below a header: a line of dashes or the first row.
    BelowHeader(Header),
    /// Below a line of dashes.
    Rows(Header),
}

/// How often a syscall was made, in all lines.
#[derive(Clone, Debug)]
pub(crate) struct CountedName {
    pub(crate) name: String,
    /// The first line that counts it.
    pub(crate) at: Position,
    pub(crate) count: f64,
    /// The count rounded up in each line, because some tools print fractions.
    pub(crate) rounded: u64,
}

impl CountedName {
    fn add(&mut self, count: f64, rounded: u64) {
        self.count = (self.count + count).min(f64::MAX);
        self.rounded = self.rounded.saturating_add(rounded);
    }
}

/// Counts, and messages about their lines.
struct Tallies {
    list: Vec<CountedName>,
    /// The index of each name in the list. Only names of syscalls are kept, so a hostile text cannot make their hashes
    /// collide.
    indices: FxHashMap<Vec<u8>, usize>,
    messages: Messages,
}

impl Tallies {
    fn new() -> Tallies {
        Tallies { list: Vec::new(), indices: FxHashMap::default(), messages: Messages::new() }
    }

    fn row(&mut self, line: Line<'_>, unknown: Severity, row: Result<'_, Row<'_>>) {
        match row.and_then(|row| Ok((row.name, number(row)?))) {
            Ok((name, count)) => {
                if let Some(known) = self.known(name.text.as_bytes()) {
                    known.add(count, count.ceil() as u64);
                } else if syscalls::is_known_name(name.text) {
                    self.add(line, name, count);
                } else {
                    unknown_name(&mut self.messages, unknown, line.position(name.at), name.text);
                }
            }
            Err(_) if self.messages.leave_out(Severity::Error) => {}
            Err(LineError { at, problem }) => {
                self.messages.error(line.position(at), problem.message()).help =
                    problem.help().to_owned();
            }
        }
    }

    /// The entry of a syscall that was counted before.
    fn known(&mut self, name: &[u8]) -> Option<&mut CountedName> {
        self.list.get_mut(*self.indices.get(name)?)
    }

    fn add(&mut self, line: Line<'_>, name: Field<'_>, count: f64) {
        let (at, name) = (line.position(name.at), name.text.to_owned());
        self.indices.insert(name.clone().into_bytes(), self.list.len());
        self.list.push(CountedName { name, at, count, rounded: count.ceil() as u64 });
    }
}

/// Reads the counts of a text line by line.
pub(crate) struct CountTable {
    unknown: Severity,
    /// The counts if the text has no tables.
    plain: Tallies,
    /// The counts if the text has tables.
    tables: Tallies,
    has_tables: bool,
    section: Section,
    /// The position of the first word that is not in a comment.
    first: Option<Position>,
    /// Whether a line looks like a count.
    has_counts: bool,
    /// Whether a line looks like a syscall as perf trace prints it.
    has_perf_calls: bool,
    buffer: WordBuffer,
    /// A word in each header, and whether a line of the block may have it.
    calls: Finder<'static>,
    may_have_headers: bool,
}

impl CountTable {
    pub(crate) fn new(unknown: Severity) -> CountTable {
        CountTable {
            unknown,
            plain: Tallies::new(),
            tables: Tallies::new(),
            has_tables: false,
            section: Section::Outside,
            first: None,
            has_counts: false,
            has_perf_calls: false,
            buffer: WordBuffer::default(),
            calls: Finder::new("calls"),
            may_have_headers: false,
        }
    }

    /// Whether a line was the header of a table.
    pub(crate) fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// Announces the block that contains the next lines.
    pub(crate) fn begin(&mut self, block: Block<'_>) {
        self.may_have_headers = self.calls.find(block.text.as_bytes()).is_some();
    }

    fn may_be_header(&self, line: &str) -> bool {
        self.may_have_headers && self.calls.find(line.as_bytes()).is_some()
    }

    /// Reads the next line of a text that may have counts outside tables.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        let words = self.buffer.words(line.text, MAX_WORDS);
        match words.first() {
            None => self.empty(),
            Some(first) if is_comment(&first) => {}
            Some(first) => {
                if !self.has_tables && !self.has_counts {
                    self.has_perf_calls |= line.text.contains(" ms): ");
                    self.first = self.first.or_else(|| Some(line.position(first.at)));
                    self.has_counts = looks_like_count(&words);
                }
                if !self.in_tables(line, &words) && !self.has_tables {
                    self.plain.row(line, self.unknown, two_columns(&words));
                }
            }
        }
        self.buffer.reuse(words);
    }

    /// Adds the count of a line with two columns if its name was counted before and there was no table so far.
    /// Otherwise returns `false`, and the line must be read with [`CountTable::line`], of which this is a faster
    /// special case.
    pub(crate) fn add_repeated(&mut self, line: &str) -> bool {
        if self.has_tables {
            return false;
        }
        let Some((name, count)) = word_and_number(line.as_bytes()) else { return false };
        let Some(known) = self.plain.known(name) else { return false };
        // If a table follows, this line causes a warning. Its position is needed unless the limit of warnings is reached.
        let is_left_out = self.tables.messages.leave_out(Severity::Warning);
        if is_left_out {
            known.add(count as f64, count);
        }
        is_left_out
    }

    /// The number of lines so far that are errors or have an unknown name.
    pub(crate) fn rejected(&self) -> usize {
        rejected_lines(if self.has_tables { &self.tables.messages } else { &self.plain.messages })
    }

    /// Adds the error that the lines from this position on were not read, because too many were rejected.
    pub(crate) fn give_up(&mut self, position: Position) {
        let found = if self.has_tables { &mut self.tables } else { &mut self.plain };
        found.messages.add(too_many_rejected(position));
    }

    /// Reads the next line of a log, which has no counts outside tables.
    pub(crate) fn line_of_log(&mut self, line: Line<'_>) {
        // Outside tables, only two words without a parenthesis may be a count, and only lines with `calls` a header.
        let text = line.text.as_bytes();
        if matches!(self.section, Section::Outside)
            && (memchr(b'(', text).is_some() || has_three_words(text))
            && !self.may_be_header(line.text)
        {
            return;
        }
        let words = self.buffer.words(line.text, MAX_WORDS);
        match words.first() {
            None => self.empty(),
            Some(first) if is_comment(&first) => {}
            Some(_) => drop(self.in_tables(line, &words)),
        }
        self.buffer.reuse(words);
    }

    fn empty(&mut self) {
        if matches!(self.section, Section::Rows(_)) {
            self.section = Section::Outside;
        }
    }

    /// Reads a line with words as one of a text with tables; returns whether it belongs to a table.
    fn in_tables(&mut self, line: Line<'_>, words: &Words<'_>) -> bool {
        let Some(first) = words.first() else { return false };
        let may_be_header = self.may_be_header(line.text);
        if let Some(header) = may_be_header.then(|| Header::parse(words)).flatten() {
            self.section = Section::BelowHeader(header);
            self.has_tables = true;
            self.plain = Tallies::new();
            return true;
        }
        let (header, below_header) = match self.section {
            Section::Outside => {
                self.outside(line, words, first);
                return false;
            }
            Section::BelowHeader(header) => (header, true),
            Section::Rows(header) => (header, false),
        };
        let unnumbered;
        let words = match header.is_numbered {
            false => words,
            true => {
                unnumbered = words.without_first();
                &unnumbered
            }
        };
        let Some(first) = words.first() else { return true };
        if words.kept.iter().all(|word| matches!(word.text, "..." | "…" | "....")) {
            if !self.tables.messages.leave_out(Severity::Warning) {
                let message = "rows of the table are left out here".to_owned();
                self.tables.messages.warn(line.position(first.at), message).help =
                    "syscalls without a row are treated as if they did not occur".to_owned();
            }
            return true;
        }
        let row = header.row(words);
        // The sum that strace prints below the table.
        let is_total = row.as_ref().is_ok_and(|row| row.name.text == "total");
        if first.text.starts_with("--") && !is_total {
            self.section = if below_header { Section::Rows(header) } else { Section::Outside };
            return true;
        }
        let is_skipped = if below_header {
            // The second line of the header in tables of perf.
            words.kept.iter().all(|word| word.text.starts_with('('))
        } else {
            is_errno(words)
        };
        if is_total || is_skipped {
            return true;
        }
        self.tables.row(line, self.unknown, row);
        true
    }

    /// Reads a line outside all tables as one of a text with tables.
    fn outside(&mut self, line: Line<'_>, words: &Words<'_>, first: Field<'_>) {
        let is_count = two_columns(words).is_ok_and(|row| syscalls::is_known_name(row.name.text));
        if is_count && !self.tables.messages.leave_out(Severity::Warning) {
            let message = "this looks like a count, but is outside the tables".to_owned();
            self.tables
                .messages
                .warn(line.position(first.at), or_ignored(Severity::Warning, message))
                .help = "put tables and other counts into separate files".to_owned();
        }
    }

    /// The counts, ordered by the first line of each name, and messages. `formats` is the help for a text in an unknown
    /// format.
    pub(crate) fn finish(self, formats: impl Into<Help>) -> (Vec<CountedName>, Messages) {
        let mut found = if self.has_tables { self.tables } else { self.plain };
        if let (false, false, Some(first)) = (self.has_tables, self.has_counts, self.first) {
            // One message instead of one per line.
            let mut messages = Messages::new();
            // perf trace prints 32-bit syscalls with the names that their numbers have in the 64-bit ABI, so its lines
            // would be misleading.
            if self.has_perf_calls {
                let message =
                    "this looks like the output of perf trace without -s, which is not supported";
                messages.error(first, message).set_help(Advice::PerfTable);
            } else {
                messages.error(first, "unknown format").set_help(formats);
            }
            found = Tallies { messages, ..Tallies::new() };
        }
        (found.list, found.messages)
    }
}

fn is_comment(first: &Field<'_>) -> bool {
    first.text.starts_with('#')
}

/// A line such as `ENOENT: 19`.
fn is_errno(words: &Words<'_>) -> bool {
    matches!(*words.kept, [name, _] if name.text.ends_with(':'))
}

/// Whether a line has two columns, one of which is a number or the name of a syscall.
fn looks_like_count(words: &Words<'_>) -> bool {
    two_columns(words)
        .is_ok_and(|row| number(row).is_ok() || syscalls::is_known_name(row.name.text))
}

fn two_columns<'t>(words: &Words<'t>) -> Result<'t, Row<'t>> {
    match *words.kept {
        // Names of syscalls start with a letter or an underscore; counts do not. "nan" is not a name.
        [first, second] if second.text.starts_with(is_letter) => {
            let is_name_first = first.text.starts_with(is_letter);
            let (name, count) = if is_name_first { (first, second) } else { (second, first) };
            Ok(Row { name, count })
        }
        [name, count] => Ok(Row { name, count }),
        _ => Err(LineError {
            at: words.first().map_or(0, |first| first.at),
            problem: Problem::Columns(words.count),
        }),
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// The columns of a table.
#[derive(Clone, Copy)]
struct Header {
    columns: usize,
    syscalls: usize,
    name: usize,
    /// The column that strace leaves empty for syscalls that never failed.
    errors: Option<usize>,
    /// Whether each line begins with its number in a document.
    is_numbered: bool,
}

impl Header {
    /// Parses the header of a table; `None` if the line is not a header.
    fn parse(words: &Words<'_>) -> Option<Header> {
        if words.count > words.kept.len() {
            return None;
        }
        let is_number = |first: Field<'_>| first.text.bytes().all(|byte| byte.is_ascii_digit());
        let is_numbered = words.first().is_some_and(is_number);
        // "% time" is one column.
        let titles = words.kept.iter().skip(usize::from(is_numbered));
        let titles = titles.filter(|field| field.text != "%");
        let column = |title| titles.clone().position(|field| field.text == title);
        Some(Header {
            columns: titles.clone().count(),
            syscalls: column("calls")?,
            name: column("syscall").or_else(|| column("name"))?,
            errors: column("errors"),
            is_numbered,
        })
    }

    /// The name and the count in a row.
    fn row<'t>(&self, words: &Words<'t>) -> Result<'t, Row<'t>> {
        let missing = self.errors.filter(|_| words.count + 1 == self.columns);
        let field = |column: usize| {
            let before = missing.is_some_and(|missing| missing < column);
            words.kept.get(column - usize::from(before)).copied()
        };
        match (field(self.name), field(self.syscalls)) {
            (Some(name), Some(count)) if words.count == self.columns || missing.is_some() => {
                Ok(Row { name, count })
            }
            _ => Err(LineError {
                at: words.first().map_or(0, |first| first.at),
                problem: Problem::Row { given: words.count, columns: self.columns },
            }),
        }
    }
}

/// The value of a count.
fn number(row: Row<'_>) -> Result<'_, f64> {
    let count = row.count.text;
    if let Some(number) = number_of(count.as_bytes()) {
        return Ok(number as f64);
    }
    let wrong = |problem| Err(LineError { at: row.count.at, problem });
    // `parse` also accepts inf and nan.
    let digits = count.trim_start_matches(['-', '+']).trim_start_matches('.');
    match count.parse::<f64>() {
        Ok(number) if digits.starts_with(|c: char| c.is_ascii_digit()) => match number {
            _ if number.is_infinite() => wrong(Problem::TooLarge(row)),
            ..0.0 => wrong(Problem::Negative(row)),
            _ => Ok(number.abs()),
        },
        _ => wrong(Problem::NoCount(row)),
    }
}
