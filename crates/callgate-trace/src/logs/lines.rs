//! Splits a text that arrives in pieces into lines, because a log may be larger than the memory.

use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_formats::diagnostics::messages::{Messages, Report};
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
    /// The lines; not empty.
    pub(crate) text: &'t str,
}

impl<'t> Block<'t> {
    /// The first line alone.
    pub(crate) fn first_line(self) -> Block<'t> {
        let end = memchr(b'\n', self.text.as_bytes()).map_or(self.text.len(), |at| at + 1);
        Block { text: self.text.get(..end).unwrap_or_default(), ..self }
    }

    /// The lines.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'t>> {
        let mut start = 0;
        let unfinished = (!self.text.ends_with('\n')).then_some(self.text.len());
        let ends = memchr_iter(b'\n', self.text.as_bytes()).map(|at| at + 1).chain(unfinished);
        ends.zip(0..).map(move |(end, index)| {
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            Line { number: self.number.saturating_add(index), text }
        })
    }
}

/// After this many lines that are errors or have unknown names, a reader of lines stops. A text that is neither counts
/// nor a log of strace may still be an audit log.
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

/// Splits a text into blocks of complete lines.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    /// The start of a line whose end has not arrived.
    begun: Vec<u8>,
    /// The lines and bytes before it.
    lines: u32,
    bytes: u64,
}

impl LineSplitter {
    /// Adds a piece of the text; calls `each` with the lines that are complete.
    ///
    /// # Errors
    /// Invalid UTF-8, a zero byte, a line longer than [`MAX_LINE`], or more than [`MAX_LINES`] lines.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(Block<'_>),
    ) -> Result<(), Diagnostic> {
        if !self.begun.is_empty() {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (first, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            if !first.ends_with(b"\n") {
                return self.begin(first, each);
            }
            self.begun.extend_from_slice(first);
            let begun = std::mem::take(&mut self.begun);
            self.text(&begun, each)?;
            bytes = rest;
        }
        let whole = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (whole, rest) = bytes.split_at_checked(whole).unwrap_or((bytes, &[]));
        self.text(whole, each)?;
        self.begin(rest, each)
    }

    /// Adds a part of a line whose end has not arrived.
    fn begin(&mut self, part: &[u8], each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        self.begun.extend_from_slice(part);
        if part.contains(&0) {
            // Binary data may have no line breaks, so report it now.
            return self.finish(each);
        }
        check_length(self.lines, self.begun.len())
    }

    /// Ends the text; a last line may lack its line break.
    pub(crate) fn finish(&mut self, each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        let begun = std::mem::take(&mut self.begun);
        self.text(&begun, each)
    }

    /// Passes on complete lines.
    fn text(&mut self, bytes: &[u8], each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        let (text, wrong) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error.valid_up_to()))
            }
        };
        let lines = self.lines.saturating_add(lines_of(text));
        if lines > MAX_LINES {
            return Err(too_many_lines());
        }
        let (good, bad) = self.check(text);
        if !good.is_empty() {
            each(Block { number: self.lines.saturating_add(1), text: good });
        }
        if let Some(error) = bad {
            return Err(error);
        }
        self.lines = lines;
        if let Some(at) = wrong {
            return Err(not_utf8(self.bytes.saturating_add(at as u64)));
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// The lines before the first one that is too long or has a zero byte, and the error of that line.
    fn check<'t>(&self, text: &'t str) -> (&'t str, Option<Diagnostic>) {
        if text.len() <= MAX_LINE && memchr(0, text.as_bytes()).is_none() {
            return (text, None);
        }
        let mut start = 0;
        for (line, index) in text.split_inclusive('\n').zip(0..) {
            let before = self.lines.saturating_add(index);
            let zero_at =
                |at| zero(Line { number: before.saturating_add(1), text: line }.position(at));
            let error = check_length(before, line.len()).err();
            if let Some(error) = error.or_else(|| line.find('\0').map(zero_at)) {
                return (text.get(..start).unwrap_or_default(), Some(error));
            }
            start += line.len();
        }
        (text, None)
    }
}

/// The number of lines, including an incomplete last line.
fn lines_of(text: &str) -> u32 {
    let breaks = memchr_iter(b'\n', text.as_bytes()).count();
    let begun = usize::from(!text.is_empty() && !text.ends_with('\n'));
    u32::try_from(breaks + begun).unwrap_or(u32::MAX)
}

/// Refuses a line of this many bytes if it is too long; `before` is the number of lines before it.
fn check_length(before: u32, length: usize) -> Result<(), Diagnostic> {
    if length <= MAX_LINE {
        return Ok(());
    }
    let position = Position { line: before.saturating_add(1), column: 1 };
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
    let text = String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.utf8_error().valid_up_to() as u64))?;
    match text.find('\0') {
        Some(at) => Err(zero(Position::of(&text, at))),
        None => Ok(text),
    }
}

fn not_utf8(at: u64) -> Diagnostic {
    Diagnostic::error(None, format!("not text: byte {at} is not valid UTF-8"))
}

fn zero(at: Position) -> Diagnostic {
    Diagnostic::error(Some(at), "not text: zero byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that arrives in pieces of this size, and the error.
    fn lines(text: &[u8], size: usize) -> (Vec<(u32, String)>, Option<String>) {
        let (mut lines, mut seen) = (LineSplitter::default(), Vec::new());
        let mut each = |block: Block<'_>| {
            seen.extend(block.lines().map(|line| (line.number, line.text.to_owned())));
        };
        let mut pieces = text.chunks(size);
        let result = pieces
            .try_for_each(|piece| lines.push(piece, &mut each))
            .and_then(|()| lines.finish(&mut each));
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
            let (seen, error) = lines(b"a\n\xc3\xa9\0\n", size);
            assert_eq!((seen.len(), error.as_deref()), (1, Some("2:2: not text: zero byte")));
            let (seen, error) = lines(b"a\nb\0", size);
            assert_eq!((seen.len(), error.as_deref()), (1, Some("2:2: not text: zero byte")));
            let (seen, error) = lines(b"a\nb\xc3\n", size);
            assert_eq!(error.as_deref(), Some("not text: byte 3 is not valid UTF-8"), "{seen:?}");
        }
    }

    #[test]
    fn more_lines_than_the_limit_are_refused() {
        let breaks = vec![b'\n'; 1 << 20];
        for (last, is_refused) in [("", false), ("a", false), ("\n", false), ("\na", true)] {
            let (mut lines, mut seen) = (LineSplitter::default(), 0);
            let mut each = |block: Block<'_>| seen = block.number;
            let mut left = MAX_LINES as usize - 1;
            while left > 0 {
                let (piece, _) = breaks.split_at(left.min(breaks.len()));
                lines.push(piece, &mut each).unwrap();
                left -= piece.len();
            }
            let result =
                lines.push(last.as_bytes(), &mut each).and_then(|()| lines.finish(&mut each));
            let error = result.err().map(|error| error.to_string());
            let refused = "20000001:1: more than 20000000 lines, the limit";
            assert_eq!(error.as_deref(), is_refused.then_some(refused), "{last:?}");
            assert_eq!(seen == MAX_LINES, !last.is_empty(), "{last:?}");
        }
    }

    #[test]
    fn a_line_longer_than_the_limit_is_refused() {
        let line = |length| [b"a\n".to_vec(), vec![b'x'; length], b"\nb".to_vec()].concat();
        for size in [1 << 16, 64 << 20] {
            assert_eq!(lines(&line(MAX_LINE - 1), size).0.len(), 3);
            let (seen, error) = lines(&line(MAX_LINE), size);
            assert_eq!(seen.len(), 1);
            assert_eq!(error.as_deref(), Some("2:1: this line is longer than 16 MiB, the limit"));
        }
    }
}
