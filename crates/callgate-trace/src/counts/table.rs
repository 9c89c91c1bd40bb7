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

use std::collections::BTreeMap;

use super::unknown_name;
use crate::lines::Line;
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls;
use callgate_formats::diagnostics::messages::Messages;
use callgate_formats::diagnostics::quote::shorten;

/// A word of a line and its byte offset there.
#[derive(Clone, Copy)]
struct Field<'t> {
    at: usize,
    text: &'t str,
}

/// What is wrong, where, and what to do.
struct Wrong {
    at: usize,
    message: String,
    help: String,
}

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

/// What the lines say, and messages about them.
struct Found {
    tallies: Vec<Tally>,
    /// Where a name is in the list.
    places: BTreeMap<String, usize>,
    messages: Messages,
}

impl Found {
    fn new() -> Found {
        Found { tallies: Vec::new(), places: BTreeMap::new(), messages: Messages::new() }
    }

    fn row(&mut self, line: Line<'_>, unknown: Severity, row: Row<'_>) {
        match row.and_then(|(name, count)| Ok((name, number(name, count)?))) {
            Ok((name, _)) if !syscalls::is_known_name(name.text) => {
                unknown_name(&mut self.messages, unknown, line.position(name.at), name.text);
            }
            Ok((name, count)) => self.add(line, name, count),
            Err(Wrong { at, message, help }) => {
                self.messages.error(line.position(at), message).help = help;
            }
        }
    }

    fn add(&mut self, line: Line<'_>, name: Field<'_>, count: f64) {
        let calls = count.ceil() as u64;
        match self.places.get(name.text).and_then(|place| self.tallies.get_mut(*place)) {
            Some(tally) => {
                tally.count = (tally.count + count).min(f64::MAX);
                tally.calls = tally.calls.saturating_add(calls);
            }
            None => {
                let (at, name) = (line.position(name.at), name.text.to_owned());
                self.places.insert(name.clone(), self.tallies.len());
                self.tallies.push(Tally { name, at, count, calls });
            }
        }
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
        }
    }

    /// Whether some line was the header of a table.
    pub(crate) fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// The next line of a text that may have counts outside of tables.
    pub(crate) fn line(&mut self, line: Line<'_>) {
        let words = Words::of(line.text, WORDS);
        let Some(first) = words.first() else { return self.empty() };
        if is_comment(&first) {
            return;
        }
        if !self.has_tables {
            self.has_calls_of_perf |= line.text.contains(" ms): ");
            self.first = self.first.or_else(|| Some(line.position(first.at)));
            self.has_counts |= looks_like_count(&words);
        }
        if !self.in_tables(line, &words) && !self.has_tables {
            self.plain.row(line, self.unknown, two_columns(&words));
        }
    }

    /// The next line of a text that has other things than counts outside of tables.
    pub(crate) fn line_of_log(&mut self, line: Line<'_>) {
        // Outside of tables, two words may be a count, and many a header.
        let outside = matches!(self.place, Place::Outside) && !line.text.contains("calls");
        let words = Words::of(line.text, if outside { 3 } else { WORDS });
        match words.first() {
            None => self.empty(),
            Some(first) if is_comment(&first) => {}
            Some(_) => drop(self.in_tables(line, &words)),
        }
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
                if let Ok((name, _)) = two_columns(words)
                    && syscalls::is_known_name(name.text)
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

/// How many words of a line are kept: more than tables have columns.
const WORDS: usize = 64;

/// The words of a line.
struct Words<'t> {
    kept: Vec<Field<'t>>,
    count: usize,
}

impl<'t> Words<'t> {
    /// The words, of which so many are kept at the most; those behind are only counted.
    fn of(line: &'t str, most: usize) -> Words<'t> {
        let mut words = Words { kept: Vec::new(), count: 0 };
        let mut at = 0;
        for piece in line.split_inclusive(is_blank) {
            let word = piece.trim_end_matches(is_blank);
            if !word.is_empty() {
                words.count += 1;
                if words.count <= most {
                    words.kept.push(Field { at, text: word });
                }
            }
            at += piece.len();
        }
        words
    }

    fn first(&self) -> Option<Field<'t>> {
        self.kept.first().copied()
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
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
    two_columns(words).is_ok_and(|(name, count)| {
        number(name, count).is_ok() || syscalls::is_known_name(name.text)
    })
}

type Row<'t> = Result<(Field<'t>, Field<'t>), Wrong>;

fn two_columns<'t>(words: &Words<'t>) -> Row<'t> {
    match *words.kept {
        // Names of calls start with a letter or an underscore; counts do not, but "nan" is no name.
        [first, second] if second.text.starts_with(is_letter) => {
            if first.text.starts_with(is_letter) {
                Ok((first, second))
            } else {
                Ok((second, first))
            }
        }
        [first, second] => Ok((first, second)),
        _ => Err(Wrong {
            at: words.first().map_or(0, |first| first.at),
            message: match words.count {
                1 => "1 column where two are expected".to_owned(),
                more => format!("{more} columns where two are expected"),
            },
            help: "write the name of a call and its count".to_owned(),
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
    fn row<'t>(&self, words: &Words<'t>) -> Row<'t> {
        let missing = self.errors.filter(|_| words.count + 1 == self.columns);
        let field = |column: usize| {
            let before = missing.is_some_and(|missing| missing < column);
            words.kept.get(column - usize::from(before)).copied()
        };
        match (field(self.name), field(self.calls)) {
            (Some(name), Some(count)) if words.count == self.columns || missing.is_some() => {
                Ok((name, count))
            }
            _ => Err(Wrong {
                at: words.first().map_or(0, |first| first.at),
                message: format!(
                    "a row with {} columns in a table that has {}",
                    words.count, self.columns
                ),
                help: "give the whole table as strace -c or perf trace -s prints it".to_owned(),
            }),
        }
    }

    /// strace adds all rows up below the table.
    fn is_total(&self, words: &Words<'_>) -> bool {
        self.row(words).is_ok_and(|(name, _)| name.text == "total")
    }
}

/// The value of a count.
fn number(name: Field<'_>, count: Field<'_>) -> Result<f64, Wrong> {
    let wrong = |message: String| Wrong {
        at: count.at,
        message,
        help: "a count is a decimal number from 0 to 1.7e308, such as 42".to_owned(),
    };
    let (given, name) = (shorten(count.text), shorten(name.text));
    // Rust also reads inf and nan.
    let digits = count.text.trim_start_matches(['-', '+']).trim_start_matches('.');
    match count.text.parse::<f64>() {
        Ok(number) if digits.starts_with(|c: char| c.is_ascii_digit()) => match number {
            _ if number.is_infinite() => {
                Err(wrong(format!("the count of {name} is larger than any number here: {given}")))
            }
            ..0.0 => Err(wrong(format!("the count of {name} is negative: {given}"))),
            _ => Ok(number.abs()),
        },
        _ => Err(wrong(format!("\"{given}\" is not a count"))),
    }
}
