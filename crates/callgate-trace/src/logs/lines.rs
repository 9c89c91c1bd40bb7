//! A text that comes in pieces, line by line. A log may be larger than the memory.

use callgate_bpf::diagnostic::{Diagnostic, Position};
use memchr::{memchr, memchr_iter, memrchr};

/// How long a line may be in bytes. strace writes what `execve` is given in one line, which the kernel limits
/// to a quarter of the stack, 2 MiB.
pub(crate) const MAX_LINE: usize = 16 << 20;

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// Its number, from 1.
    pub(crate) number: u32,
    /// What stands there, with the line break, if it has one.
    pub(crate) text: &'t str,
}

impl Line<'_> {
    /// The place of a byte offset in it.
    pub(crate) fn position(&self, at: usize) -> Position {
        let before = self.text.get(..at).unwrap_or(self.text);
        let columns = before.chars().filter(|c| *c != '\u{feff}').count();
        Position { line: self.number, column: u32::try_from(columns + 1).unwrap_or(u32::MAX) }
    }
}

/// Consecutive whole lines of a text. Readers that look for something rare can search all of them at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'t> {
    /// The number of the first line, from 1.
    number: u32,
    /// The lines; not empty.
    pub(crate) text: &'t str,
}

impl<'t> Block<'t> {
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

/// Splits a text into blocks of whole lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// What came of the last line so far.
    begun: Vec<u8>,
    /// Lines and bytes before it.
    lines: u32,
    bytes: u64,
}

impl Lines {
    /// More of the text. `each` gets the lines that are whole by now.
    ///
    /// # Errors
    /// A text that cannot be one: bytes that are no UTF-8, a zero, a line beyond [`MAX_LINE`].
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

    /// A part of a line whose end is not there yet.
    fn begin(&mut self, part: &[u8], each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        self.begun.extend_from_slice(part);
        if part.contains(&0) {
            // What is no text may have no lines either.
            return self.finish(each);
        }
        check_length(self.lines, self.begun.len())
    }

    /// The end of the text: what has no line break is a line.
    pub(crate) fn finish(&mut self, each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        let begun = std::mem::take(&mut self.begun);
        self.text(&begun, each)
    }

    /// Whole lines.
    fn text(&mut self, bytes: &[u8], each: &mut impl FnMut(Block<'_>)) -> Result<(), Diagnostic> {
        let (text, wrong) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error.valid_up_to()))
            }
        };
        let (good, bad) = self.check(text);
        if !good.is_empty() {
            each(Block { number: self.lines.saturating_add(1), text: good });
        }
        if let Some(error) = bad {
            return Err(error);
        }
        self.lines = self.lines.saturating_add(lines_of(text));
        if let Some(at) = wrong {
            return Err(not_utf8(self.bytes.saturating_add(at as u64)));
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// The lines before the first one that is too long or has a zero, and what is wrong with that one.
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

/// How many lines there are, or have begun.
fn lines_of(text: &str) -> u32 {
    let breaks = memchr_iter(b'\n', text.as_bytes()).count();
    let begun = usize::from(!text.is_empty() && !text.ends_with('\n'));
    u32::try_from(breaks + begun).unwrap_or(u32::MAX)
}

/// Refuses a line of this many bytes behind so many others.
fn check_length(before: u32, length: usize) -> Result<(), Diagnostic> {
    if length <= MAX_LINE {
        return Ok(());
    }
    let position = Position { line: before.saturating_add(1), column: 1 };
    let message = format!("this line has more than {} MiB, the limit for a line", MAX_LINE >> 20);
    Err(Diagnostic::error(Some(position), message)
        .help("logs have one line for each call; check what file this is"))
}

/// A text that was kept as a whole.
///
/// # Errors
/// As [`Lines::push`], but that lines may have any length.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    let text = String::from_utf8(bytes)
        .map_err(|error| not_utf8(error.utf8_error().valid_up_to() as u64))?;
    match text.find('\0') {
        Some(at) => Err(zero(Position::of(&text, at))),
        None => Ok(text),
    }
}

fn not_utf8(at: u64) -> Diagnostic {
    Diagnostic::error(None, format!("not text: byte {at} is no part of UTF-8"))
}

fn zero(at: Position) -> Diagnostic {
    Diagnostic::error(Some(at), "a zero byte: this is not text")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text that comes in pieces of this size, and what is wrong with it.
    fn lines(text: &[u8], size: usize) -> (Vec<(u32, String)>, Option<String>) {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
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
    fn pieces_of_any_size_are_the_same_lines() {
        for text in ["", "\n", "a", "a\nb", "é\r\n\nüü\n\n", "a\nlonger than a piece\nb\n"] {
            let expected: Vec<_> =
                (1..).zip(text.split_inclusive('\n').map(str::to_owned)).collect();
            for size in 1..=text.len() + 1 {
                assert_eq!(lines(text.as_bytes(), size), (expected.clone(), None), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_said_with_its_place() {
        for size in 1..=9 {
            let (seen, error) = lines(b"a\n\xc3\xa9\0\n", size);
            assert_eq!(
                (seen.len(), error.as_deref()),
                (1, Some("2:2: a zero byte: this is not text"))
            );
            let (seen, error) = lines(b"a\nb\0", size);
            assert_eq!(
                (seen.len(), error.as_deref()),
                (1, Some("2:2: a zero byte: this is not text"))
            );
            let (seen, error) = lines(b"a\nb\xc3\n", size);
            assert_eq!(error.as_deref(), Some("not text: byte 3 is no part of UTF-8"), "{seen:?}");
        }
    }

    #[test]
    fn a_line_is_as_long_as_the_limit_at_most() {
        let line = |length| [b"a\n".to_vec(), vec![b'x'; length], b"\nb".to_vec()].concat();
        for size in [1 << 16, 64 << 20] {
            assert_eq!(lines(&line(MAX_LINE - 1), size).0.len(), 3);
            let (seen, error) = lines(&line(MAX_LINE), size);
            assert_eq!(seen.len(), 1);
            assert_eq!(
                error.as_deref(),
                Some("2:1: this line has more than 16 MiB, the limit for a line")
            );
        }
    }
}
