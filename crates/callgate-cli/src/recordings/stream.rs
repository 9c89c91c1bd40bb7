//! Reads many recordings one after the other: files, directories, and streams with one recording per line (NDJSON).
//!
//! Only a batch of recordings is in memory at a time, apart from what the caller keeps.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_trace::read::{ReadOptions, ReadRecording, RecordingReader};
use callgate_trace::recording::Recording;

use super::batch::{Batch, Parsed, Text};
use super::files::RecordingOptions;
use super::warnings::Warnings;
use crate::report::{self, Failure, Result};
use crate::source::Place;

/// The largest recording in bytes.
const MAX_TEXT: u64 = 64 << 20;

/// How many lines, apart from empty ones, show whether a text has one recording per line.
const START: usize = 8;

/// Where a recording starts.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) name: Arc<str>,
    pub(crate) line: u32,
}

/// Receives a recording and where it is from.
pub(crate) type Each<'e> = &'e mut dyn FnMut(Recording, Origin);

/// Reads all recordings of files, directories (their files, ordered by name) and standard input (`-`), and passes them on.
/// Returns how many were skipped: with `partial`, those that cannot be read. Warnings are printed unless they were
/// printed before, when the same inputs were read.
pub(crate) fn read_each<P: AsRef<Path>>(
    inputs: &[P],
    options: RecordingOptions,
    warned: bool,
    each: Each<'_>,
) -> Result<u64> {
    let mut stream = Stream {
        options: options.resolve()?,
        each,
        batch: Batch::default(),
        warnings: if warned { None } else { Some(Warnings::default()) },
        skipped: 0,
    };
    for input in inputs {
        for file in files(input.as_ref(), !warned)? {
            stream.read(&Place::of_path(&file))?;
        }
    }
    stream.parse_batch()?;
    stream.warnings.iter().for_each(Warnings::finish);
    Ok(stream.skipped)
}

/// The files of a directory, without hidden ones, parts of recordings that are being made, and messages of hooks;
/// otherwise the path itself. `warns`: whether a warning says how many parts there are.
fn files(path: &Path, warns: bool) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let about = |message: String| Failure::about(path.display().to_string(), message);
    let unreadable = |error: std::io::Error| {
        about(format!("cannot read the directory: {}", callgate_linux::error_text(&error)))
    };
    let (mut files, mut parts) = (Vec::new(), 0);
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name.ends_with(".json.log") || !file.is_file() {
            continue;
        }
        if name.ends_with(".partial") {
            parts += 1;
        } else {
            files.push(file);
        }
    }
    if parts > 0 && warns {
        report::warn_about(
            &path.display().to_string(),
            format!(
                "files of recordings that are not finished, which are not read (*.partial): {parts}"
            ),
            "they are being made, or their recorder was killed: then also give the files themselves",
        );
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
    each: Each<'s>,
    batch: Batch,
    warnings: Option<Warnings>,
    skipped: u64,
}

impl Stream<'_> {
    fn read(&mut self, place: &Place) -> Result<()> {
        let name: Arc<str> = place.name().into();
        let mut input = BufReader::with_capacity(256 << 10, place.open()?);
        let start = start(place, &mut input)?;
        let mut lines = start.iter().filter(|line| !is_blank(line));
        let first = lines.next().map_or(&[][..], Vec::as_slice);
        // The first line may be damaged.
        if is_object(first) || lines.any(|line| is_recording(line)) {
            return self.lines(place, &name, &mut input, start);
        }
        let is_json = is_json(first);
        let mut bytes = start.concat();
        if !is_json {
            self.parse_batch()?;
            return self.log(place, input, &bytes);
        }
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
        let origin = Origin { name: place.name().into(), line: 1 };
        self.recording(origin, pushed.and_then(|()| reader.finish()))
    }

    /// Reads one recording per line; the first lines were read before.
    fn lines(
        &mut self,
        place: &Place,
        name: &Arc<str>,
        input: &mut impl BufRead,
        first: Vec<Vec<u8>>,
    ) -> Result<()> {
        let mut number = 0;
        let mut first = first.into_iter();
        loop {
            let bytes = match first.next() {
                Some(line) => line,
                None => next_line(place, input)?,
            };
            if bytes.is_empty() {
                return Ok(());
            }
            number += 1;
            if !is_blank(&bytes) {
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
        parsed.into_iter().try_for_each(|(Text { name, line, .. }, parsed)| {
            self.recording(Origin { name, line }, parsed)
        })
    }

    /// Passes on a recording, or skips it.
    fn recording(&mut self, origin: Origin, result: Parsed) -> Result<()> {
        let Origin { name, line } = &origin;
        let errors = match result {
            Ok(ReadRecording { recording, warnings, .. }) => {
                if let Some(printed) = &mut self.warnings {
                    let warnings = warnings.into_iter().map(|warning| in_line(warning, *line));
                    printed.print(name, warnings);
                }
                (self.each)(recording, origin);
                return Ok(());
            }
            Err(errors) => Vec::from(errors).into_iter().map(|error| in_line(error, *line)),
        };
        if !self.options.partial {
            let help = "--partial skips recordings with errors";
            return Err(Failure::of(&**name, errors.collect::<Vec<_>>()).more_help(help));
        }
        self.skipped += 1;
        let first = errors.into_iter().find(|error| error.severity == Severity::Error);
        if let (Some(printed), Some(error)) = (&mut self.warnings, first) {
            printed.skipped(name, error);
        }
        Ok(())
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

/// The first lines of a text, without a byte order mark: [`START`] lines and the empty ones between them, or fewer if
/// they are long.
fn start(place: &Place, input: &mut impl BufRead) -> Result<Vec<Vec<u8>>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let (mut count, mut bytes) = (0, 0);
    while count < START && bytes < MAX_TEXT {
        let mut line = next_line(place, input)?;
        if line.is_empty() {
            break;
        }
        if lines.is_empty() && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        count += usize::from(!is_blank(&line));
        bytes += line.len() as u64;
        lines.push(line);
    }
    Ok(lines)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The next line with its line break; empty at the end. A line of another format may be longer than [`MAX_TEXT`]: then
/// this is only its start.
fn next_line(place: &Place, input: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    match input.take(MAX_TEXT + 1).read_until(b'\n', &mut line) {
        Ok(_) => Ok(line),
        Err(error) => Err(place.unreadable(&error)),
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

fn is_json(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// Whether a line is a whole object.
fn is_object(line: &[u8]) -> bool {
    is_json(line) && line.trim_ascii_end().ends_with(b"}")
}

/// Whether a line is a whole recording: an object with the key that each has, and its value.
fn is_recording(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"callgate\"";
    let has_value = |at: usize| {
        let rest = line.get(at + KEY.len()..).unwrap_or_default().trim_ascii_start();
        let value = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.is_some_and(|value| value.starts_with(b"\"recording\""))
    };
    is_object(line)
        && line.windows(KEY.len()).enumerate().any(|(at, found)| found == KEY && has_value(at))
}
