//! Counts in lines: two columns, and the tables of `strace -c` and `perf trace -s`.
//!
//! A line with the words `calls` and `syscall` (or `name`) is the header of a table, wherever it
//! stands; its words say what the columns are. A table with a line of dashes below its header ends
//! with another one (strace) or an empty line (perf). Where there is a table, the lines outside of
//! all tables are no counts.
//!
//! strace leaves the column `errors` empty for calls that never failed; perf adds a line such as
//! `ENOENT: 19` below a row with `--errno-summary`.
//!
//! Sources: `call_summary_pers` in strace's `count.c`, `thread__dump_stats` in the kernel's
//! `tools/perf/builtin-trace.c`, and the output of strace 6.1 and perf 6.1.

use super::unknown_name;
use super::words::{Buffer, Field, WORDS, Words, word_and_number};
use crate::logs::lines::Line;
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls;
use callgate_formats::messages::{Messages, Report};
use callgate_formats::tree::shorten;
use rustc_hash::FxHashMap;

/// What is wrong with a line, and where in it. Its message is formatted only where it is reported.
struct Wrong<'t> {
    at: usize,
    problem: Problem<'t>,
}

enum Problem<'t> {
    /// This many columns where two are expected.
    Columns(usize),
    /// This many columns in a table that has others.
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
            Problem::Columns(1) => "1 column where two are expected".to_owned(),
            Problem::Columns(more) => format!("{more} columns where two are expected"),
            Problem::Row { given, columns } => {
                format!("a row with {given} columns in a table that has {columns}")
            }
            Problem::TooLarge(Row { name, count }) => {
                let (name, count) = (shorten(name.text), shorten(count.text));
                format!("the count of {name} is larger than any number here: {count}")
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
            Problem::Columns(_) => "write the name of a call and its count",
            Problem::Row { .. } => "give the whole table as strace -c or perf trace -s prints it",
            _ => "a count is a decimal number from 0 to 1.7e308, such as 42",
        }
    }
}

/// The two words of a line that count.
#[derive(Clone, Copy)]
struct Row<'t> {
    name: Field<'t>,
    count: Field<'t>,
}

type Result<'t, T> = std::result::Result<T, Wrong<'t>>;

/// Where the lines are.
#[derive(Clone, Copy)]
enum Place {
    /// Outside of all tables.
    Outside,
    /// Below a header; rows begin, but there may be dashes first.
    Below(Header),
    /// Below dashes.
    Rows(Header),
}

/// How often a call happens, by all lines that say it.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) name: String,
    /// Where it is said first.
    pub(crate) at: Position,
    pub(crate) count: f64,
    /// The same in whole calls: some tools count in fractions; what happened at all happened once.
    pub(crate) calls: u64,
}

impl Tally {
    fn add(&mut self, count: f64, calls: u64) {
        self.count = (self.count + count).min(f64::MAX);
        self.calls = self.calls.saturating_add(calls);
    }
}

/// What the lines say, and messages about them.
struct Found {
    tallies: Vec<Tally>,
    /// Where a name is in the list. Names of calls alone are kept, so no text can make their hashes collide.
    places: FxHashMap<Vec<u8>, usize>,
    messages: Messages,
}

impl Found {
    fn new() -> Found {
        Found { tallies: Vec::new(), places: FxHashMap::default(), messages: Messages::new() }
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
            Err(Wrong { at, problem }) => {
                self.messages.error(line.position(at), problem.message()).help =
                    problem.help().to_owned();
            }
        }
    }

    /// What was counted of a call before.
    fn known(&mut self, name: &[u8]) -> Option<&mut Tally> {
        self.tallies.get_mut(*self.places.get(name)?)
    }

    fn add(&mut self, line: Line<'_>, name: Field<'_>, count: f64) {
        let (at, name) = (line.position(name.at), name.text.to_owned());
        self.places.insert(name.clone().into_bytes(), self.tallies.len());
        self.tallies.push(Tally { name, at, count, calls: count.ceil() as u64 });
    }
}

/// The counts of a text, line by line.
pub(crate) struct Log {
    unknown: Severity,
    /// What the lines mean in a text without tables, and in one with them.
    plain: Found,
    tables: Found,
    has_tables: bool,
    place: Place,
    /// Where the first word is that is no comment.
    first: Option<Position>,
    /// Some line looks like a count.
    has_counts: bool,
    /// Some line looks like a call that perf trace prints.
    has_calls_of_perf: bool,
    buffer: Buffer,
}

impl Log {
    pub(crate) fn new(unknown: Severity) -> Log {
        Log {
            unknown,
            plain: Found::new(),
            tables: Found::new(),
            has_tables: false,
            place: Place::Outside,
            first: None,
            has_counts: false,
            has_calls_of_perf: false,
            buffer: Buffer::default(),
        }
    }

    /// Whether some line was the header of a table.
    pub(crate) fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// The next line of a text that may have counts outside of tables.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        let words = self.buffer.words(line.text, WORDS);
        match words.first() {
            None => self.empty(),
            Some(first) if is_comment(&first) => {}
            Some(first) => {
                if !self.has_tables && !self.has_counts {
                    self.has_calls_of_perf |= line.text.contains(" ms): ");
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

    /// Adds the count of a line of two columns, if their name was counted before and there are no tables so
    /// far; otherwise the line is still to be read. Nothing is done here that [`Log::line`] would not do.
    pub(crate) fn repeated(&mut self, line: &str) -> bool {
        if self.has_tables {
            return false;
        }
        let Some((name, count)) = word_and_number(line.as_bytes()) else { return false };
        let Some(known) = self.plain.known(name) else { return false };
        // In a text with tables, this line is a warning. After so many there is no need to say where.
        let is_left_out = self.tables.messages.leave_out(Severity::Warning);
        if is_left_out {
            known.add(count as f64, count);
        }
        is_left_out
    }

    /// The next line of a text that has other things than counts outside of tables.
    pub(crate) fn line_of_log(&mut self, line: Line<'_>) {
        // Outside of tables, two words may be a count, and many a header.
        let outside = matches!(self.place, Place::Outside) && !line.text.contains("calls");
        let words = self.buffer.words(line.text, if outside { 3 } else { WORDS });
        match words.first() {
            None => self.empty(),
            Some(first) if is_comment(&first) => {}
            Some(_) => drop(self.in_tables(line, &words)),
        }
        self.buffer.reuse(words);
    }

    fn empty(&mut self) {
        if matches!(self.place, Place::Rows(_)) {
            self.place = Place::Outside;
        }
    }

    /// A line with words, as one of a text with tables; whether it belongs to one.
    fn in_tables(&mut self, line: Line<'_>, words: &Words<'_>) -> bool {
        let Some(first) = words.first() else { return false };
        if line.text.contains("calls")
            && let Some(header) = Header::parse(words)
        {
            self.place = Place::Below(header);
            self.has_tables = true;
            self.plain = Found::new();
            return true;
        }
        let row = match self.place {
            Place::Outside => {
                if let Ok(row) = two_columns(words)
                    && syscalls::is_known_name(row.name.text)
                    && !self.tables.messages.leave_out(Severity::Warning)
                {
                    let message = "this looks like a count, but is outside of the tables";
                    self.tables
                        .messages
                        .warn(line.position(first.at), format!("{message}; it is left out"))
                        .help = "put tables and other counts into separate files".to_owned();
                }
                return false;
            }
            Place::Below(header) | Place::Rows(header) if header.is_total(words) => return true,
            Place::Below(header) if first.text.starts_with("--") => {
                self.place = Place::Rows(header);
                return true;
            }
            // perf's second line of titles.
            Place::Below(_) if words.kept.iter().all(|word| word.text.starts_with('(')) => {
                return true;
            }
            Place::Rows(_) if first.text.starts_with("--") => {
                self.place = Place::Outside;
                return true;
            }
            Place::Rows(_) if is_errno(words) => return true,
            Place::Below(header) | Place::Rows(header) => header.row(words),
        };
        self.tables.row(line, self.unknown, row);
        true
    }

    /// The counts in the order in which the calls are named first, and what is to be said. `forms` says which
    /// forms of text could have been given, for one that is none of them.
    pub(crate) fn finish(self, forms: &str) -> (Vec<Tally>, Messages) {
        let mut found = if self.has_tables { self.tables } else { self.plain };
        if let (false, false, Some(first)) = (self.has_tables, self.has_counts, self.first) {
            // Every line is wrong for the same reason.
            let mut messages = Messages::new();
            // perf trace names 32-bit calls by their numbers on 64 bits, so its lines are no calls to rely on.
            if self.has_calls_of_perf {
                let message =
                    "this looks like the calls that perf trace prints, which are not read";
                messages.error(first, message).help =
                    "perf trace -s makes a table that is; callgate record records values, too"
                        .to_owned();
            } else {
                messages.error(first, "this text has none of the known forms").help =
                    forms.to_owned();
            }
            found = Found { messages, ..Found::new() };
        }
        (found.tallies, found.messages)
    }
}

fn is_comment(first: &Field<'_>) -> bool {
    first.text.starts_with('#')
}

/// `ENOENT: 19`
fn is_errno(words: &Words<'_>) -> bool {
    matches!(*words.kept, [name, _] if name.text.ends_with(':'))
}

/// Whether it is two columns, one of which is a number or the name of a call.
fn looks_like_count(words: &Words<'_>) -> bool {
    two_columns(words)
        .is_ok_and(|row| number(row).is_ok() || syscalls::is_known_name(row.name.text))
}

fn two_columns<'t>(words: &Words<'t>) -> Result<'t, Row<'t>> {
    match *words.kept {
        // Names of calls start with a letter or an underscore; counts do not, but "nan" is no name.
        [first, second] if second.text.starts_with(is_letter) => {
            let is_name_first = first.text.starts_with(is_letter);
            let (name, count) = if is_name_first { (first, second) } else { (second, first) };
            Ok(Row { name, count })
        }
        [name, count] => Ok(Row { name, count }),
        _ => Err(Wrong {
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
    calls: usize,
    name: usize,
    /// strace leaves it empty in the rows of calls that never failed.
    errors: Option<usize>,
}

impl Header {
    /// Understands the line above a table; `None` when it is another line.
    fn parse(words: &Words<'_>) -> Option<Header> {
        if words.count > words.kept.len() {
            return None;
        }
        // "% time" is one column with two words.
        let titles = words.kept.iter().filter(|field| field.text != "%");
        let column = |title| titles.clone().position(|field| field.text == title);
        Some(Header {
            columns: titles.clone().count(),
            calls: column("calls")?,
            name: column("syscall").or_else(|| column("name"))?,
            errors: column("errors"),
        })
    }

    /// The fields of the name and of the count.
    fn row<'t>(&self, words: &Words<'t>) -> Result<'t, Row<'t>> {
        let missing = self.errors.filter(|_| words.count + 1 == self.columns);
        let field = |column: usize| {
            let before = missing.is_some_and(|missing| missing < column);
            words.kept.get(column - usize::from(before)).copied()
        };
        match (field(self.name), field(self.calls)) {
            (Some(name), Some(count)) if words.count == self.columns || missing.is_some() => {
                Ok(Row { name, count })
            }
            _ => Err(Wrong {
                at: words.first().map_or(0, |first| first.at),
                problem: Problem::Row { given: words.count, columns: self.columns },
            }),
        }
    }

    /// strace adds all rows up below the table.
    fn is_total(&self, words: &Words<'_>) -> bool {
        self.row(words).is_ok_and(|row| row.name.text == "total")
    }
}

/// The value of a count.
fn number(row: Row<'_>) -> Result<'_, f64> {
    let wrong = |problem| Err(Wrong { at: row.count.at, problem });
    let count = row.count.text;
    // Rust also reads inf and nan.
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
