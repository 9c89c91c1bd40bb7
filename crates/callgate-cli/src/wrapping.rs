//! The width of output and of messages, and text that is wrapped to it.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::sync::OnceLock;

/// The width of output in columns where neither `COLUMNS` nor a terminal gives one.
const WIDTH: usize = 80;

/// The widths that these can select: narrower tables cannot be read, and neither can longer lines.
const WIDTHS: RangeInclusive<usize> = 40..=200;

/// The maximum width of output in columns: `COLUMNS`, which shells rarely export, or the width of the terminal, within bounds;
/// 80 otherwise.
pub(crate) fn columns() -> usize {
    static COLUMNS: OnceLock<usize> = OnceLock::new();
    let of_output = || of_terminal(io::stdout());
    *COLUMNS.get_or_init(|| columns_of(std::env::var("COLUMNS").ok().as_deref(), of_output()))
}

/// The maximum width of messages in columns, if standard error is a terminal; elsewhere each message is one line, as programs that
/// read messages expect.
pub(crate) fn message_columns() -> Option<usize> {
    let terminal = of_terminal(io::stderr());
    let columns = || columns_of(std::env::var("COLUMNS").ok().as_deref(), terminal);
    io::stderr().is_terminal().then(columns)
}

/// The width of a terminal, if it is one. Some terminals, such as those of serial lines, say 0.
fn of_terminal(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(size.ws_col.into()).filter(|columns| *columns > 0)
}

fn columns_of(variable: Option<&str>, terminal: Option<usize>) -> usize {
    let given = variable.and_then(|text| text.parse::<usize>().ok()).filter(|columns| *columns > 0);
    given.or(terminal).map_or(WIDTH, |columns| columns.clamp(*WIDTHS.start(), *WIDTHS.end()))
}

/// Appends wrapped text and a line break. In the first line, `used` columns are taken; the others start with `indent`
/// blanks.
pub(crate) fn wrap(text: &mut String, words: &str, used: usize, indent: usize) {
    wrap_to(columns(), text, words, used, indent);
}

/// As [`wrap`], to a number of columns.
pub(crate) fn wrap_to(columns: usize, text: &mut String, words: &str, used: usize, indent: usize) {
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
