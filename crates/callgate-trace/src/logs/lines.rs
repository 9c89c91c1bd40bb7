//! Splits a text that arrives in pieces into lines, because a log may be larger than the memory.

use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_formats::diagnostics::messages::{Messages, Report};
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};

/// The longest line in bytes. strace writes the arguments of `execve` in one line; the kernel limits them to a
/// quarter of the stack, 2 MiB.
pub(crate) const MAX_LINE: usize = 16 << 20;

/// The largest number of lines. A log of 1 GiB usually has about 10 million; with more than this, it has less than 54
/// bytes per line.
pub(crate) const MAX_LINES: u32 = 20_000_000;

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// The line number, from 1.
    pub(crate) number: u32,
    /// The text, including the line break if there is one.
    pub(crate) text: &'t str,
}

impl Line<'_> {
    /// The position of a byte offset in the line.
    pub(crate) fn position(&self, at: usize) -> Position {
        let before = self.text.get(..at).unwrap_or(self.text);
        let columns = if before.is_ascii() {
            before.len()
        } else {
            before.chars().filter(|c| *c != '\u{feff}').count()
        };
        Position { line: self.number, column: u32::try_from(columns + 1).unwrap_or(u32::MAX) }
    }
}

/// Consecutive complete lines of a text. Readers can search for a rare pattern in all of them at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'t> {
    /// The number of the first line, from 1.
    pub(crate) number: u32,
    pub(crate) text: &'t str,
}

impl<'t> Block<'t> {
    /// The lines.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'t>> {
        let mut start = 0;
        let is_unfinished = !self.text.is_empty() && !self.text.ends_with('\n');
        let unfinished = is_unfinished.then_some(self.text.len());
        let ends = memchr_iter(b'\n', self.text.as_bytes()).map(|at| at + 1).chain(unfinished);
        ends.zip(0..).map(move |(end, index)| {
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            Line { number: self.number.saturating_add(index), text }
        })
    }
}

/// Searches for any of several texts, which is fast for whole blocks.
#[derive(Debug)]
pub(crate) struct AnyOf(Vec<Finder<'static>>);

impl AnyOf {
    pub(crate) fn new(texts: &[&'static str]) -> AnyOf {
        AnyOf(texts.iter().copied().map(Finder::new).collect())
    }

    /// Whether a text has one of them.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.0.iter().any(|finder| finder.find(text).is_some())
    }
}

/// After this many lines that are errors or have unknown names, a reader of lines stops. A text that is neither counts
/// nor a strace log may still be an audit log.
pub(crate) const MAX_REJECTED_LINES: usize = 1_000_000;

/// The number of lines that are errors or have unknown names, of a reader with these messages.
pub(crate) fn rejected_lines(messages: &Messages) -> usize {
    let reported = |severity| messages.reported(severity);
    reported(Severity::Error).saturating_add(reported(Severity::Warning))
}

/// The error that lines from this position on were not read, because too many were rejected.
pub(crate) fn too_many_rejected(position: Position) -> Diagnostic {
    let message =
        format!("more than {MAX_REJECTED_LINES} lines are errors or have unknown names, the limit");
    Diagnostic::error(Some(position), message)
        .help("check whether this file contains syscalls or counts of them")
}

/// Splits a text into complete lines.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    /// The start of a line whose end has not arrived.
    begun: Vec<u8>,
    /// The lines and bytes before it.
    lines: u32,
    bytes: u64,
}

impl LineSplitter {
    /// Adds a piece of the text, and replaces `text` with the lines that are complete now. Returns the number of the
    /// first one.
    ///
    /// # Errors
    /// Invalid UTF-8, a zero byte, a line longer than [`MAX_LINE`], or more than [`MAX_LINES`] lines.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) -> Result<u32, Diagnostic> {
        let end = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (ended, begun) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
        let first = self.lines.saturating_add(1);
        text.clear();
        if !ended.is_empty() {
            self.begun.extend_from_slice(ended);
            self.end(text)?;
        }
        self.begun.extend_from_slice(begun);
        if begun.contains(&0) {
            // Binary data may have no line breaks, so report it now.
            self.end(text)?;
        }
        check_length(self.lines.saturating_add(1), self.begun.len())?;
        Ok(first)
    }

    /// Ends the text; a last line may lack its line break. Replaces `text` with this line and returns its number.
    ///
    /// # Errors
    /// As for [`push`](LineSplitter::push).
    pub(crate) fn finish(&mut self, text: &mut String) -> Result<u32, Diagnostic> {
        self.end(text)?;
        Ok(self.lines)
    }

    /// Replaces `text` with the lines so far. The allocations are swapped.
    fn end(&mut self, text: &mut String) -> Result<(), Diagnostic> {
        let mut spare = std::mem::take(text).into_bytes();
        spare.clear();
        let lines = std::mem::replace(&mut self.begun, spare);
        (*text, self.lines) = self.checked(lines)?;
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        Ok(())
    }

    /// Converts the next lines to text, and counts all lines up to their end. Returns the first error.
    fn checked(&self, bytes: Vec<u8>) -> Result<(String, u32), Diagnostic> {
        let (text, is_valid) = valid_start(bytes);
        let lines = self.check_lines(&text)?;
        if is_valid {
            return Ok((text, lines));
        }
        let Position { line, column } = Position::of(&text, text.len());
        let position = Position { line: self.lines.saturating_add(line), column };
        Err(not_utf8(position, self.bytes.saturating_add(text.len() as u64)))
    }

    /// Refuses zero bytes, lines that are too long, and too many lines. Counts all lines up to the end of the text.
    fn check_lines(&self, text: &str) -> Result<u32, Diagnostic> {
        let lines = self.lines.saturating_add(lines_of(text));
        let is_short = text.len() <= MAX_LINE && memchr(0, text.as_bytes()).is_none();
        if is_short && lines <= MAX_LINES {
            return Ok(lines);
        }
        for line in (Block { number: self.lines.saturating_add(1), text }).lines() {
            if line.number > MAX_LINES {
                return Err(too_many_lines());
            }
            check_length(line.number, line.text.len())?;
            if let Some(at) = line.text.find('\0') {
                return Err(zero(line.position(at)));
            }
        }
        Ok(lines)
    }
}

/// The number of lines, including an incomplete last line.
fn lines_of(text: &str) -> u32 {
    let breaks = memchr_iter(b'\n', text.as_bytes()).count();
    let begun = usize::from(!text.is_empty() && !text.ends_with('\n'));
    u32::try_from(breaks + begun).unwrap_or(u32::MAX)
}

/// Refuses a line of this many bytes if it is too long.
fn check_length(number: u32, length: usize) -> Result<(), Diagnostic> {
    if length <= MAX_LINE {
        return Ok(());
    }
    let position = Position { line: number, column: 1 };
    let message = format!("this line is longer than {} MiB, the limit", MAX_LINE >> 20);
    Err(Diagnostic::error(Some(position), message)
        .help("logs have one line per syscall; check whether this file is a log"))
}

fn too_many_lines() -> Diagnostic {
    let position = Position { line: MAX_LINES + 1, column: 1 };
    Diagnostic::error(Some(position), format!("more than {MAX_LINES} lines, the limit"))
        .help("check whether this file is a log; if it is, split it and give all parts")
}

/// Converts a text that was kept as a whole.
///
/// # Errors
/// Invalid UTF-8 or a zero byte; lines may have any length.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    let (text, is_valid) = valid_start(bytes);
    if !is_valid {
        return Err(not_utf8(Position::of(&text, text.len()), text.len() as u64));
    }
    match text.find('\0') {
        Some(at) => Err(zero(Position::of(&text, at))),
        None => Ok(text),
    }
}

/// The text up to the first byte that is not valid UTF-8, and whether there is none.
fn valid_start(bytes: Vec<u8>) -> (String, bool) {
    String::from_utf8(bytes).map_or_else(
        |error| {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to());
            (String::from_utf8_lossy(valid.unwrap_or_default()).into_owned(), false)
        },
        |text| (text, true),
    )
}

/// The byte is counted from the start of the text.
fn not_utf8(position: Position, at: u64) -> Diagnostic {
    Diagnostic::error(Some(position), format!("not text: byte {at} is not valid UTF-8"))
}

fn zero(at: Position) -> Diagnostic {
    Diagnostic::error(Some(at), "not text: zero byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that arrives in pieces of this size, and the error.
    fn lines(bytes: &[u8], size: usize) -> (Vec<(u32, String)>, Option<String>) {
        let (mut splitter, mut seen) = (LineSplitter::default(), Vec::new());
        let mut text = String::new();
        let mut add = |number, text: &str| {
            let lines = Block { number, text }.lines();
            seen.extend(lines.map(|line| (line.number, line.text.to_owned())));
        };
        let mut pieces = bytes.chunks(size);
        let result = pieces
            .try_for_each(|piece| splitter.push(piece, &mut text).map(|number| add(number, &text)))
            .and_then(|()| splitter.finish(&mut text).map(|number| add(number, &text)));
        (seen, result.err().map(|error| error.to_string()))
    }

    #[test]
    fn lines_do_not_depend_on_the_size_of_pieces() {
        for text in ["", "\n", "a", "a\nb", "é\r\n\nüü\n\n", "a\nlonger than a piece\nb\n"] {
            let expected: Vec<_> =
                (1..).zip(text.split_inclusive('\n').map(str::to_owned)).collect();
            for size in 1..=text.len() + 1 {
                assert_eq!(lines(text.as_bytes(), size), (expected.clone(), None), "{text:?}");
            }
        }
    }

    #[test]
    fn binary_data_is_reported_with_its_position() {
        for size in 1..=9 {
            for (text, expected) in [
                (&b"a\n\xc3\xa9\0\n"[..], "2:2: not text: zero byte"),
                (b"a\nb\0", "2:2: not text: zero byte"),
                (b"a\nb\xc3\n", "2:2: not text: byte 3 is not valid UTF-8"),
                (b"\n\nb\n\xc3", "4:1: not text: byte 4 is not valid UTF-8"),
                (b"a\n\0\n\xc3\n", "2:1: not text: zero byte"),
            ] {
                let (_, error) = lines(text, size);
                assert_eq!(error.as_deref(), Some(expected), "by {size}");
            }
        }
    }

    #[test]
    fn more_lines_than_the_limit_are_refused() {
        let breaks = vec![b'\n'; 1 << 20];
        for (last, is_refused) in [("", false), ("a", false), ("\n", false), ("\na", true)] {
            let (mut splitter, mut text) = (LineSplitter::default(), String::new());
            let mut left = MAX_LINES as usize - 1;
            while left > 0 {
                let (piece, _) = breaks.split_at(left.min(breaks.len()));
                splitter.push(piece, &mut text).unwrap();
                left -= piece.len();
            }
            let result = splitter.push(last.as_bytes(), &mut text);
            let result = result.and_then(|_| splitter.finish(&mut text));
            let error = result.as_ref().err().map(ToString::to_string);
            let refused = "20000001:1: more than 20000000 lines, the limit";
            assert_eq!(error.as_deref(), is_refused.then_some(refused), "{last:?}");
        }
    }

    #[test]
    fn a_line_longer_than_the_limit_is_refused() {
        let line = |length| [b"a\n".to_vec(), vec![b'x'; length], b"\nb".to_vec()].concat();
        for size in [1 << 16, 64 << 20] {
            assert_eq!(lines(&line(MAX_LINE - 1), size).0.len(), 3);
            let (_, error) = lines(&line(MAX_LINE), size);
            assert_eq!(error.as_deref(), Some("2:1: this line is longer than 16 MiB, the limit"));
        }
    }
}
