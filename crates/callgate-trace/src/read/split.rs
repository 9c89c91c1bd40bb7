//! Splits a text into parts that can be parsed in any thread.
//!
//! Three steps read a log: [`TextSplitter`] splits it into parts, [`TextPart::parse`] parses the lines of a part one by
//! one, and [`RecordingReader::add`](super::RecordingReader::add) combines the parts in their order. Most of the time is
//! spent in the second step, which needs no other part. A program may make it in another thread, as here; otherwise `add`
//! makes it.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_trace::read::{ReadOptions, RecordingReader, TextPart, TextSplitter};
//! use std::{sync::mpsc, thread};
//!
//! let (to, parts) = mpsc::sync_channel(4);
//! let splitter = thread::spawn(move || {
//!     let mut splitter = TextSplitter::default();
//!     let mut each = |part: &mut TextPart| {
//!         part.parse();
//!         // Fails if the other thread reads no further.
//!         let _ = to.send(std::mem::take(part));
//!     };
//!     for piece in ["close(3) = 0\ncl", "ose(4) = 0\n"] {
//!         splitter.push(piece.as_bytes(), &mut each);
//!     }
//!     splitter.finish(&mut each);
//! });
//! let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
//! let mut reader = RecordingReader::new(&options);
//! for mut part in parts {
//!     reader.add(&mut part)?;
//! }
//! splitter.join().map_err(|_| "the thread panicked")?;
//! assert_eq!(reader.finish()?.recording.total(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::logs::lines::{Block, Line, LineSplitter, text_of};
use crate::logs::strace::ParsedLine;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The largest text in JSON in bytes. Recordings of commands that ran for days have about 100 kB.
const MAX_JSON: usize = 64 << 20;

/// The size of a part in bytes, besides the line that begins in the part before. Parts of this size fit into the caches
/// of a processor.
const PIECE: usize = 128 << 10;

/// A part of a text: complete lines of a log, a whole text in JSON, or the error after which the rest of the text is
/// useless.
#[derive(Default)]
pub struct TextPart(pub(super) Part);

pub(super) enum Part {
    Lines(LogLines),
    Json(String),
    Failed(Diagnostic),
}

impl Default for Part {
    fn default() -> Part {
        Part::Lines(LogLines::default())
    }
}

impl TextPart {
    /// Parses the lines of the part, unless this was done before.
    pub fn parse(&mut self) {
        if let Part::Lines(lines) = &mut self.0 {
            lines.parse();
        }
    }
}

/// Consecutive complete lines of a log.
#[derive(Default)]
pub(super) struct LogLines {
    /// The number of the first line.
    number: u32,
    text: String,
    /// Each line as one of strace; empty before the lines are parsed.
    parsed: Vec<ParsedLine>,
}

impl LogLines {
    /// The lines.
    pub(super) fn block(&self) -> Block<'_> {
        Block { number: self.number, text: &self.text }
    }

    /// Each line, and what it is as one of strace.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Line<'_>, &ParsedLine)> {
        self.block().lines().zip(&self.parsed)
    }

    /// Removes the lines, and allocations that only long lines need.
    fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(4 * PIECE);
        self.parsed.clear();
    }

    /// Parses the lines.
    pub(super) fn parse(&mut self) {
        if self.parsed.is_empty() {
            let block = Block { number: self.number, text: &self.text };
            self.parsed.extend(block.lines().map(|line| ParsedLine::of(line.text)));
        }
    }
}

/// Splits a text that arrives in pieces.
pub struct TextSplitter {
    /// The text so far, until it is known not to be JSON.
    start: Option<TextStart>,
    splitter: LineSplitter,
    /// The last part, whose allocations are used again.
    part: TextPart,
    has_failed: bool,
}

impl Default for TextSplitter {
    fn default() -> TextSplitter {
        TextSplitter {
            start: Some(TextStart::default()),
            splitter: LineSplitter::default(),
            part: TextPart::default(),
            has_failed: false,
        }
    }
}

impl TextSplitter {
    /// Adds a piece of the text. Calls `each` with the parts that are complete, in order; the last one may be an error.
    /// `each` may take a part and leave an older one, whose allocations are then used again.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(&mut TextPart)) {
        if !self.has_failed {
            let result = self.try_push(bytes, each);
            self.check(result, each);
        }
    }

    /// Ends the text; calls `each` with the last part.
    pub fn finish(mut self, each: &mut dyn FnMut(&mut TextPart)) {
        if !self.has_failed {
            let result = self.try_finish(each);
            self.check(result, each);
        }
    }

    /// Whether a part was an error, so that the rest of the text is useless.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn check(&mut self, result: Result<(), Diagnostic>, each: &mut dyn FnMut(&mut TextPart)) {
        if let Err(error) = result {
            self.has_failed = true;
            each(&mut TextPart(Part::Failed(error)));
        }
    }

    fn try_push(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&mut TextPart),
    ) -> Result<(), Diagnostic> {
        let Some(start) = &mut self.start else { return self.lines(bytes, each) };
        start.bytes.extend_from_slice(bytes);
        match start.is_json() {
            Some(false) => self.start_as_lines(each),
            Some(true) if start.bytes.len() > MAX_JSON => Err(too_long()),
            // 64 MiB of blanks are not JSON.
            None if start.bytes.len() > MAX_JSON => self.start_as_lines(each),
            _ => Ok(()),
        }
    }

    fn try_finish(&mut self, each: &mut dyn FnMut(&mut TextPart)) -> Result<(), Diagnostic> {
        if let Some(start) = self.start.take_if(|start| start.is_json().unwrap_or(start.is_list)) {
            each(&mut TextPart(Part::Json(text_of(start.bytes)?)));
            return Ok(());
        }
        self.start_as_lines(each)?;
        self.split(LineSplitter::finish, each)
    }

    /// Reads the text so far, which is not JSON, line by line.
    fn start_as_lines(&mut self, each: &mut dyn FnMut(&mut TextPart)) -> Result<(), Diagnostic> {
        let start = self.start.take().unwrap_or_default();
        if start.bytes.starts_with(b"\x7fELF") {
            let message = "this is an ELF file, a program or a library, not a recording";
            return Err(Diagnostic::error(None, message).help(Advice::GenerateFromBinary));
        }
        self.lines(&start.bytes, each)
    }

    fn lines(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&mut TextPart),
    ) -> Result<(), Diagnostic> {
        let mut pieces = bytes.chunks(PIECE);
        pieces.try_for_each(|piece| self.split(|splitter, text| splitter.push(piece, text), each))
    }

    /// Passes on the lines that are complete after a step of the splitter.
    fn split(
        &mut self,
        step: impl FnOnce(&mut LineSplitter, &mut String) -> Result<u32, Diagnostic>,
        each: &mut dyn FnMut(&mut TextPart),
    ) -> Result<(), Diagnostic> {
        let mut lines = match std::mem::take(&mut self.part.0) {
            Part::Lines(lines) => lines,
            Part::Json(_) | Part::Failed(_) => LogLines::default(),
        };
        lines.clear();
        lines.number = step(&mut self.splitter, &mut lines.text)?;
        // Millions of empty lines mean the same as one.
        if lines.text.bytes().all(|byte| byte == b'\n') {
            lines.text.truncate(1);
        }
        let is_empty = lines.text.is_empty();
        self.part = TextPart(Part::Lines(lines));
        if !is_empty {
            each(&mut self.part);
        }
        Ok(())
    }
}

fn too_long() -> Diagnostic {
    let message =
        format!("this JSON is larger than {} MiB, the limit for a recording", MAX_JSON >> 20);
    Diagnostic::error(Some(Position { line: 1, column: 1 }), message)
        .help("recordings are far smaller; check whether this file is one")
}

/// The start of a text that may be JSON.
#[derive(Default)]
struct TextStart {
    bytes: Vec<u8>,
    /// How many bytes were examined.
    seen: usize,
    /// Whether they contain an opening bracket.
    is_list: bool,
}

impl TextStart {
    /// Whether the text is JSON; `None` while this is not known. A list of objects is JSON too, and an error is reported
    /// for it later. Lines of logs may start with a bracket and a word or a number: `[pid 12]`, `[   12.345678]`.
    fn is_json(&mut self) -> Option<bool> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        loop {
            let rest = self.bytes.get(self.seen..).unwrap_or_default();
            self.seen += match rest.first()? {
                byte if byte.is_ascii_whitespace() => 1,
                _ if rest.starts_with(MARK) => MARK.len(),
                _ if MARK.starts_with(rest) => return None,
                b'{' => return Some(true),
                b'[' if !self.is_list => {
                    self.is_list = true;
                    1
                }
                first => return Some(self.is_list && matches!(first, b'[' | b'"' | b']')),
            };
        }
    }
}
