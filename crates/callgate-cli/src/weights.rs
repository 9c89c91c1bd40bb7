//! Reading how often calls happen: two columns, or the table of `strace -c`.
//!
//! Two columns are a name and a count in either order, with any white space between; empty lines and
//! lines that start with `#` are skipped. In strace's table the columns under `calls` and `syscall`
//! count, wherever `strace -U` puts them. Counts are not negative; fractions are fine.

use callgate::diagnostic::{Diagnostic, Position};
use callgate::syscalls;

/// Names and counts, in the order of the text; a name may be there several times.
///
/// # Errors
/// Every line that is wrong, with its number.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, f64)>, Vec<Diagnostic>> {
    let mut counts: Vec<(String, f64)> = Vec::new();
    let mut errors = Vec::new();
    let mut strace = None;
    for (index, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if let Some(header) = Header::parse(&fields) {
            strace = Some(header);
            continue;
        }
        let parsed = match &strace {
            Some(_) if line.starts_with("--") || fields.contains(&"total") => continue,
            Some(header) => header.row(&fields),
            None => two_columns(&fields),
        };
        match parsed {
            Ok((name, count)) => counts.push((name.to_owned(), count)),
            Err((message, help)) => {
                let column = line.chars().take_while(|c| c.is_whitespace()).count() + 1;
                let position = Position { line: index as u32 + 1, column: column as u32 };
                errors.push(Diagnostic::error(Some(position), message).help(help));
            }
        }
    }
    if errors.is_empty() && counts.is_empty() {
        errors.push(
            Diagnostic::error(None, "no counts in this file")
                .help("write one line per call: its name and how often it happens"),
        );
    }
    if errors.is_empty() && counts.iter().all(|(_, count)| *count == 0.0) {
        errors.push(
            Diagnostic::error(None, "every count in this file is 0")
                .help("leave --weights out, or count again"),
        );
    }
    if errors.is_empty() { Ok(counts) } else { Err(errors) }
}

type Row<'a> = Result<(&'a str, f64), (String, String)>;

fn two_columns<'a>(fields: &[&'a str]) -> Row<'a> {
    let [first, second] = fields else {
        return Err((
            match fields.len() {
                1 => "1 column where two are expected".into(),
                more => format!("{more} columns where two are expected"),
            },
            "write the name of a call and its count".into(),
        ));
    };
    if starts_like_a_name(first) { row(first, second) } else { row(second, first) }
}

/// The columns of strace's table.
struct Header {
    columns: usize,
    calls: usize,
    name: usize,
    /// Empty in the rows of calls that never failed.
    errors: Option<usize>,
}

impl Header {
    /// Understands the line above the table; `None` when it is another line.
    fn parse(fields: &[&str]) -> Option<Header> {
        // "% time" is one column with two words.
        let titles = fields.iter().filter(|word| **word != "%");
        let column = |title| titles.clone().position(|word| *word == title);
        Some(Header {
            columns: titles.clone().count(),
            calls: column("calls")?,
            name: column("syscall").or_else(|| column("name"))?,
            errors: column("errors"),
        })
    }

    fn row<'a>(&self, fields: &[&'a str]) -> Row<'a> {
        let missing = match self.errors {
            _ if fields.len() == self.columns => None,
            Some(errors) if fields.len() + 1 == self.columns => Some(errors),
            _ => {
                let message = "a row of strace's table has other columns than its header";
                return Err((message.into(), "give the whole table".into()));
            }
        };
        let field = |column: usize| {
            let before = missing.is_some_and(|missing| missing < column);
            fields[column - usize::from(before)]
        };
        row(field(self.name), field(self.calls))
    }
}

/// Names of calls start with a letter or an underscore; counts do not.
fn starts_like_a_name(field: &str) -> bool {
    field.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn row<'a>(name: &'a str, count: &str) -> Row<'a> {
    let number: f64 = match count.parse() {
        Ok(number) if f64::is_finite(number) && starts_with_digit(count) => number,
        _ => {
            return Err((
                format!("\"{count}\" is not a count"),
                "counts are decimal numbers, not negative".into(),
            ));
        }
    };
    if number < 0.0 {
        return Err((
            format!("the count of {name} is negative: {count}"),
            "counts are decimal numbers, not negative".into(),
        ));
    }
    if !syscalls::is_known_name(name) {
        return Err((
            format!("\"{name}\" is not the name of a system call"),
            "names are those of the kernel's tables, such as openat or futex".into(),
        ));
    }
    Ok((name, number))
}

/// Rust reads `inf` and `nan` as numbers too.
fn starts_with_digit(count: &str) -> bool {
    count.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, f64)> {
        parse(text).unwrap()
    }

    fn message(text: &str) -> String {
        let errors = parse(text).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn two_columns_in_either_order() {
        let text = "# counts\nfutex\t870063\n\n  2.5 read\nfutex 1\n";
        let counts = [("futex".into(), 870_063.0), ("read".into(), 2.5), ("futex".into(), 1.0)];
        assert_eq!(parsed(text), counts);
    }

    #[test]
    fn the_table_of_strace() {
        let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.11    0.000055          55         1           execve
 38.89    0.000035           5         7         2 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000090          11         8         2 total
";
        assert_eq!(parsed(text), [("execve".into(), 1.0), ("openat".into(), 7.0)]);
    }

    #[test]
    fn the_table_of_strace_with_columns_of_choice() {
        let text = "\
syscall               calls
---------------- ----------
execve                    1
openat                    7
---------------- ----------
total                     8
";
        assert_eq!(parsed(text), [("execve".into(), 1.0), ("openat".into(), 7.0)]);
        // Errors may be anywhere, and are nowhere where there are none.
        let text = "\
   errors syscall               calls % time
--------- ---------------- ---------- ------
          execve                    1  12.50
        2 openat                    7  87.50
--------- ---------------- ---------- ------
        2 total                     8 100.00
";
        assert_eq!(parsed(text), [("execve".into(), 1.0), ("openat".into(), 7.0)]);
        assert_eq!(
            message("name calls\nread 1\nwrite\n"),
            "3:1: a row of strace's table has other columns than its header"
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(
            message("read 1\nreed 2\n write -3\nopen many\nclose\n7 8 9\nread nan"),
            "2:1: \"reed\" is not the name of a system call\n\
             3:2: the count of write is negative: -3\n\
             4:1: \"many\" is not a count\n\
             5:1: 1 column where two are expected\n\
             6:1: 3 columns where two are expected\n\
             7:1: \"nan\" is not a count"
        );
        assert_eq!(message("# nothing\n"), "no counts in this file");
        assert_eq!(message("read 0\nwrite 0\n"), "every count in this file is 0");
    }
}
