//! Reads many recordings one after the other: files, directories, and streams with one recording per line (NDJSON).
//!
//! Only a batch of recordings is in memory at a time, apart from what the caller keeps.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate::diagnostic::{Diagnostic, Position, Severity};
use callgate::read::{ReadOptions, ReadRecording, RecordingReader};
use callgate::recording::Recording;

use super::batch::{Batch, Parsed, Text};
use super::files::RecordingOptions;
use super::warnings::Warnings;
use crate::report::{Failure, Result};
use crate::source::Place;

/// The largest recording in bytes.
const MAX_TEXT: u64 = 64 << 20;

/// How many bytes of a line show whether it is the start of a recording.
const START: usize = 256;

/// Reads all recordings of files, directories (their files, ordered by name) and standard input (`-`), and passes them on.
/// Returns how many were skipped: with `partial`, those that cannot be read.
pub(crate) fn read_each<P: AsRef<Path>>(
    inputs: &[P],
    options: RecordingOptions,
    each: &mut dyn FnMut(Recording) -> std::result::Result<(), Diagnostic>,
) -> Result<u64> {
    let mut stream = Stream {
        options: options.resolve()?,
        each,
        batch: Batch::default(),
        warnings: Warnings::default(),
        skipped: 0,
    };
    for input in inputs {
        for file in files(input.as_ref())? {
            stream.read(&Place::of_path(&file))?;
        }
    }
    stream.parse_batch()?;
    stream.warnings.finish();
    Ok(stream.skipped)
}

/// The files of a directory, without hidden ones and parts of recordings that are being made; otherwise the path itself.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let about = |message: String| Failure::about(path.display().to_string(), message);
    let unreadable = |error: std::io::Error| {
        about(format!("cannot read the directory: {}", callgate_linux::error_text(&error)))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let is_hidden =
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_part = file.extension() == Some(OsStr::new("partial"));
        if file.is_file() && !is_hidden && !is_part {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(about("no recordings in this directory".to_owned())
            .help("give a directory with files of callgate record, or the files"));
    }
    files.sort();
    Ok(files)
}

struct Stream<'s> {
    options: ReadOptions,
    each: &'s mut dyn FnMut(Recording) -> std::result::Result<(), Diagnostic>,
    batch: Batch,
    warnings: Warnings,
    skipped: u64,
}

impl Stream<'_> {
    fn read(&mut self, place: &Place) -> Result<()> {
        let name: Arc<str> = place.name().into();
        let mut input = BufReader::with_capacity(256 << 10, place.open()?);
        let first = next_line(place, &mut input)?;
        if !is_json(&first) {
            self.parse_batch()?;
            return self.log(place, input, &first);
        }
        let second = match is_object(&first) {
            true => Vec::new(),
            false => next_line(place, &mut input)?,
        };
        if is_object(&first) || is_recording(&second) {
            return self.lines(place, &name, &mut input, [first, second]);
        }
        let mut bytes = [first, second].concat();
        // One byte more than the limit, which is reported when the text is parsed.
        let rest = MAX_TEXT.saturating_add(1).saturating_sub(bytes.len() as u64);
        input.take(rest).read_to_end(&mut bytes).map_err(|error| place.unreadable(&error))?;
        self.push(Text { name, line: 1, bytes })
    }

    /// Reads a log, which may be larger than the memory.
    fn log(&mut self, place: &Place, mut input: impl BufRead, first: &[u8]) -> Result<()> {
        let mut reader = RecordingReader::new(&self.options);
        let mut pushed = reader.push(first);
        while pushed.is_ok() {
            let piece = input.fill_buf().map_err(|error| place.unreadable(&error))?;
            if piece.is_empty() {
                break;
            }
            let length = piece.len();
            pushed = reader.push(piece);
            input.consume(length);
        }
        self.recording(&place.name(), 1, pushed.and_then(|()| reader.finish()))
    }

    /// Reads one recording per line; the first lines were read before.
    fn lines(
        &mut self,
        place: &Place,
        name: &Arc<str>,
        input: &mut impl BufRead,
        first: [Vec<u8>; 2],
    ) -> Result<()> {
        let mut number = 0;
        let mut first = first.into_iter().filter(|line| !line.is_empty());
        loop {
            let bytes = match first.next() {
                Some(line) => line,
                None => next_line(place, input)?,
            };
            if bytes.is_empty() {
                return Ok(());
            }
            number += 1;
            if !bytes.iter().all(u8::is_ascii_whitespace) {
                self.push(Text { name: Arc::clone(name), line: number, bytes })?;
            }
        }
    }

    fn push(&mut self, text: Text) -> Result<()> {
        self.batch.push(text);
        if self.batch.is_full() { self.parse_batch() } else { Ok(()) }
    }

    /// Passes on the recordings of the texts that were read.
    fn parse_batch(&mut self) -> Result<()> {
        let parsed = std::mem::take(&mut self.batch).parse(&self.options);
        parsed
            .into_iter()
            .try_for_each(|(text, parsed)| self.recording(&text.name, text.line, parsed))
    }

    /// Passes on the recording that starts in a line, or skips it.
    fn recording(&mut self, name: &str, line: u32, result: Parsed) -> Result<()> {
        let read = match result {
            Ok(ReadRecording { recording, warnings }) => {
                let warnings = warnings.into_iter().map(|warning| in_line(warning, line));
                self.warnings.print(name, warnings);
                (self.each)(recording).map_err(|error| vec![in_line(error, line)])
            }
            Err(errors) => {
                Err(Vec::from(errors).into_iter().map(|error| in_line(error, line)).collect())
            }
        };
        match read {
            Ok(()) => Ok(()),
            Err(errors) if self.options.partial => {
                self.skipped += 1;
                let first = errors.into_iter().find(|error| error.severity == Severity::Error);
                let skipped = first.map(|error| Diagnostic {
                    severity: Severity::Warning,
                    message: format!("{}; this recording is skipped", error.message),
                    ..error
                });
                self.warnings.print(name, skipped);
                Ok(())
            }
            Err(errors) => {
                Err(Failure::of(name, errors).more_help("--partial skips recordings with errors"))
            }
        }
    }
}

/// A message about a text that starts in this line of a file.
fn in_line(mut message: Diagnostic, line: u32) -> Diagnostic {
    match &mut message.position {
        Some(position) => position.line = position.line.saturating_add(line - 1),
        None if line > 1 => message.position = Some(Position { line, column: 1 }),
        None => {}
    }
    message
}

/// The next line with its line break; empty at the end. A line of another format may be longer than [`MAX_TEXT`]: then
/// this is only its start.
fn next_line(place: &Place, input: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    match input.take(MAX_TEXT + 1).read_until(b'\n', &mut line) {
        Ok(_) => Ok(line),
        Err(error) => Err(place.unreadable(&error)),
    }
}

fn is_json(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// Whether a line is a whole object.
fn is_object(line: &[u8]) -> bool {
    is_json(line) && line.trim_ascii_end().ends_with(b"}")
}

/// Whether a line is a whole recording, judged by its start and its end.
fn is_recording(line: &[u8]) -> bool {
    let start = line.get(..START).unwrap_or(line);
    is_object(line) && String::from_utf8_lossy(start).contains("\"callgate\"")
}
