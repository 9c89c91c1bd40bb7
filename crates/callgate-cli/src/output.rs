//! Writes results to standard output, or to files atomically.

mod new_file;
mod place;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::OnceLock;

use callgate_linux::error_text;

use crate::report::{Failure, Result};

pub(crate) use new_file::{
    NewFile, remove_file, rename_file, write_file, write_file_in, write_new_file, write_recording,
    write_recording_in,
};
pub(crate) use place::Directory;

/// The width of output in columns where neither `COLUMNS` nor a terminal gives one.
const WIDTH: usize = 80;

/// The widths that these can select: narrower tables cannot be read, and neither can longer lines.
const WIDTHS: RangeInclusive<usize> = 40..=200;

/// Writes text to standard output; keeps styles only on a terminal.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_failed)
}

/// A text without styles, for a file.
pub(crate) fn text_of(styled: &str) -> String {
    anstream::adapter::strip_str(styled).to_string()
}

/// The maximum width of output in columns: `COLUMNS`, which shells rarely export, or the width of the terminal, within bounds;
/// 80 otherwise.
pub(crate) fn columns() -> usize {
    static COLUMNS: OnceLock<usize> = OnceLock::new();
    *COLUMNS.get_or_init(|| columns_of(std::env::var("COLUMNS").ok().as_deref(), of_terminal()))
}

/// The width of the terminal, if standard output is one. Some terminals, such as those of serial lines, say 0.
fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(size.ws_col.into()).filter(|columns| *columns > 0)
}

fn columns_of(variable: Option<&str>, terminal: Option<usize>) -> usize {
    let given = variable.and_then(|text| text.parse::<usize>().ok()).filter(|columns| *columns > 0);
    given.or(terminal).map_or(WIDTH, |columns| columns.clamp(*WIDTHS.start(), *WIDTHS.end()))
}

/// Appends wrapped text and a line break. In the first line, `used` columns are taken; the others start with `indent`
/// blanks.
pub(crate) fn wrap(text: &mut String, words: &str, used: usize, indent: usize) {
    let columns = columns();
    let mut column = used;
    for (i, word) in words.split(' ').enumerate() {
        let length = width(word);
        if i > 0 && column + 1 + length > columns {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

/// The width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(|part| part.chars().count()).sum()
}

/// Writes bytes to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot write to standard output: {}", error_text(&error)))
}

/// Writes a program's bytes to a file, or to standard output unless that is a terminal.
pub(crate) fn write_program(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => write_file(path, bytes),
        None if io::stdout().is_terminal() => {
            Err(Failure::new("refusing to write raw instructions to a terminal")
                .help("write to a file with -o FILE, or to a pipe"))
        }
        None => print_bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_within_bounds() {
        for (variable, terminal, columns) in [
            (None, None, 80),
            (Some(""), None, 80),
            (Some("wide"), None, 80),
            (Some("0"), None, 80),
            (Some("20"), None, 40),
            (Some("120"), None, 120),
            (Some("100000"), None, 200),
            (None, Some(132), 132),
            (None, Some(10), 40),
            (Some(""), Some(132), 132),
            (Some("60"), Some(132), 60),
        ] {
            assert_eq!(columns_of(variable, terminal), columns, "{variable:?}, {terminal:?}");
        }
    }
}
