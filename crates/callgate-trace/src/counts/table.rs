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
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls;
use callgate_codegen::Count;
use callgate_formats::reader::Reader;
use callgate_formats::tree::shorten;

/// A word of a line and its byte offset in the text.
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
enum Place {
    /// Outside of all tables.
    Outside,
    /// Below a header; rows begin, but there may be dashes first.
    Below(Header),
    /// Below dashes.
    Rows(Header),
}

/// The counts of a text, each with the byte offset of its name. `forms` says which forms of text could have
/// been given, for one that is none of them.
pub(crate) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    unknown: Severity,
    forms: &str,
) -> Vec<(usize, Count)> {
    let lines = || lines(text).filter(|fields| !fields.first().is_some_and(is_comment));
    let tables = has_tables(text);
    if !tables
        && let Some(first) = lines().find_map(|fields| fields.first().copied())
        && !lines().any(|fields| looks_like_count(&fields))
    {
        // Every line would be wrong for the same reason.
        // perf trace names 32-bit calls by their numbers on 64 bits, so its lines are no calls to rely on.
        if text.contains(" ms): ") {
            let message = "this looks like the calls that perf trace prints, which are not read";
            reader.error(first.at, message).help =
                "perf trace -s makes a table that is; callgate record records values, too"
                    .to_owned();
        } else {
            reader.error(first.at, "this text has none of the known forms").help = forms.to_owned();
        }
        return Vec::new();
    }
    let mut counts = Vec::new();
    let mut place = Place::Outside;
    for fields in lines() {
        let Some(first) = fields.first() else {
            if matches!(place, Place::Rows(_)) {
                place = Place::Outside;
            }
            continue;
        };
        if let Some(header) = Header::parse(&fields) {
            place = Place::Below(header);
            continue;
        }
        let row = match place {
            Place::Outside if tables => {
                if let Ok((name, _)) = two_columns(&fields)
                    && syscalls::is_known_name(name.text)
                {
                    let message = "this looks like a count, but is outside of the tables";
                    reader.warn(first.at, format!("{message}; it is left out")).help =
                        "put tables and other counts into separate files".to_owned();
                }
                continue;
            }
            Place::Outside => two_columns(&fields),
            Place::Below(header) | Place::Rows(header) if header.is_total(&fields) => continue,
            Place::Below(header) if first.text.starts_with("--") => {
                place = Place::Rows(header);
                continue;
            }
            // perf's second line of titles.
            Place::Below(_) if fields.iter().all(|field| field.text.starts_with('(')) => continue,
            Place::Rows(_) if first.text.starts_with("--") => {
                place = Place::Outside;
                continue;
            }
            Place::Rows(_) if is_errno(&fields) => continue,
            Place::Below(header) | Place::Rows(header) => header.row(&fields),
        };
        match row.and_then(|(name, count)| Ok((name, number(name, count)?))) {
            Ok((name, _)) if !syscalls::is_known_name(name.text) => {
                unknown_name(reader, unknown, name.at, name.text);
            }
            Ok((name, count)) => {
                let count = Count { arch: None, name: name.text.to_owned(), count };
                counts.push((name.at, count));
            }
            Err(Wrong { at, message, help }) => reader.error(at, message).help = help,
        }
    }
    counts
}

/// Whether some line is the header of a table.
pub(super) fn has_tables(text: &str) -> bool {
    let is_header = |fields: Vec<Field<'_>>| {
        !fields.first().is_some_and(is_comment) && Header::parse(&fields).is_some()
    };
    text.contains("calls") && lines(text).any(is_header)
}

/// The words of each line.
fn lines(text: &str) -> impl Iterator<Item = Vec<Field<'_>>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let mut fields = Vec::new();
        let mut at = start;
        for piece in line.split_inclusive(|c: char| c.is_whitespace() || c == '\u{feff}') {
            let word = piece.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            if !word.is_empty() {
                fields.push(Field { at, text: word });
            }
            at += piece.len();
        }
        start += line.len();
        fields
    })
}

fn is_comment(first: &Field<'_>) -> bool {
    first.text.starts_with('#')
}

/// `ENOENT: 19`
fn is_errno(fields: &[Field<'_>]) -> bool {
    matches!(fields, [name, _] if name.text.ends_with(':'))
}

/// Whether it is two columns, one of which is a number or the name of a call.
fn looks_like_count(fields: &[Field<'_>]) -> bool {
    two_columns(fields).is_ok_and(|(name, count)| {
        number(name, count).is_ok() || syscalls::is_known_name(name.text)
    })
}

type Row<'t> = Result<(Field<'t>, Field<'t>), Wrong>;

fn two_columns<'t>(fields: &[Field<'t>]) -> Row<'t> {
    match *fields {
        // Names of calls start with a letter or an underscore; counts do not, but "nan" is no name.
        [first, second] if second.text.starts_with(is_letter) => {
            if first.text.starts_with(is_letter) {
                Ok((first, second))
            } else {
                Ok((second, first))
            }
        }
        [first, second] => Ok((first, second)),
        ref fields => Err(Wrong {
            at: fields.first().map_or(0, |field| field.at),
            message: match fields.len() {
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
    fn parse(fields: &[Field<'_>]) -> Option<Header> {
        // "% time" is one column with two words.
        let titles = fields.iter().filter(|field| field.text != "%");
        let column = |title| titles.clone().position(|field| field.text == title);
        Some(Header {
            columns: titles.clone().count(),
            calls: column("calls")?,
            name: column("syscall").or_else(|| column("name"))?,
            errors: column("errors"),
        })
    }

    /// The fields of the name and of the count.
    fn row<'t>(&self, fields: &[Field<'t>]) -> Row<'t> {
        let missing = self.errors.filter(|_| fields.len() + 1 == self.columns);
        let field = |column: usize| {
            let before = missing.is_some_and(|missing| missing < column);
            fields.get(column - usize::from(before)).copied()
        };
        match (field(self.name), field(self.calls)) {
            (Some(name), Some(count)) if fields.len() == self.columns || missing.is_some() => {
                Ok((name, count))
            }
            _ => Err(Wrong {
                at: fields.first().map_or(0, |field| field.at),
                message: format!(
                    "a row with {} columns in a table that has {}",
                    fields.len(),
                    self.columns
                ),
                help: "give the whole table as strace -c or perf trace -s prints it".to_owned(),
            }),
        }
    }

    /// strace adds all rows up below the table.
    fn is_total(&self, fields: &[Field<'_>]) -> bool {
        self.row(fields).is_ok_and(|(name, _)| name.text == "total")
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
