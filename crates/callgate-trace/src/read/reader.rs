//! Reads recordings in any format.

use super::detect::{DetectedFormat, FormatDetector, ReadRecording, checked};
use super::split::TextPart;
use crate::counts::table::CountTable;
use crate::logs::programs::LogPrograms;
use crate::logs::selection::Selection;
use crate::names::{not_on_arch, unknown_severity};
use crate::recording::json::read as json;
use crate::recording::{Recording, RecordingMethod, Run, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity};
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::Messages;
use callgate_formats::diagnostics::quote::shorten;
use callgate_formats::syntax::reader::KeyMatching;
use callgate_formats::syntax::reader::Reader;

/// How a recording is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The architecture of a log that does not name one.
    pub arch: Arch,
    /// Whether unknown names are errors instead of warnings.
    pub strict: bool,
    /// Whether the complete entries of a truncated recording in JSON are read, instead of an error. Its runs then have
    /// one more lost syscall, because the number of missing syscalls is not known. Also whether an audit log is read that has
    /// lines which look like denials and are not records, instead of an error; they are a caveat.
    pub partial: bool,
}

/// Reads a recording.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_trace::read::{self, ReadOptions};
/// use callgate_trace::recording::SyscallId;
///
/// let log = "1234 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n1234 close(3) = 0\n";
/// let read = read::read(log, &ReadOptions { arch: Arch::X86_64, strict: true, partial: false })?;
/// let close = read.recording.get(SyscallId::new(Arch::X86_64, 3)).ok_or("close(2) is missing")?;
/// assert_eq!(close.args()[0].all(), Some(&[3][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All errors, and the warnings between them, in the order of the text. A text without syscalls is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<ReadRecording, Diagnostics> {
    let mut reader = RecordingReader::new(options);
    reader.push(text.as_bytes())?;
    reader.finish()
}

/// Reads a recording from a text that arrives in pieces. A log is not kept, so it may be larger than the memory; JSON is
/// kept, up to 64 MiB.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_trace::read::{ReadOptions, RecordingReader};
///
/// let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
/// let mut reader = RecordingReader::new(&options);
/// for piece in ["close(3) = 0\ncl", "ose(4) = 0\n"] {
///     reader.push(piece.as_bytes())?;
/// }
/// assert_eq!(reader.finish()?.recording.total(), 2);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
pub struct RecordingReader {
    options: ReadOptions,
    detector: FormatDetector,
    /// The records that are read.
    selection: Selection,
}

impl RecordingReader {
    /// A reader with these options.
    pub fn new(options: &ReadOptions) -> RecordingReader {
        let detector =
            FormatDetector::new(options.arch, options.strict, false, Advice::SupportedRecordings);
        RecordingReader { options: *options, detector, selection: Selection::default() }
    }

    /// Reads only the audit records of some programs, processes, units or containers. Texts in other formats, which do not name
    /// programs, are errors.
    #[must_use]
    pub fn selecting(mut self, selection: Selection) -> RecordingReader {
        self.detector.select(selection.clone());
        self.selection = selection;
        self
    }

    /// Adds a piece of the text.
    ///
    /// # Errors
    /// An error after which the rest of the text is useless.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Diagnostics> {
        self.detector.push(bytes)
    }

    /// Adds the next part of a text from a [`TextSplitter`](super::TextSplitter), instead of pieces of the text.
    /// The allocations remain in the part.
    ///
    /// # Errors
    /// An error after which the rest of the text is useless.
    pub fn add(&mut self, part: &mut TextPart) -> Result<(), Diagnostics> {
        self.detector.add(part)
    }

    /// The recording in the complete text.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn finish(self) -> Result<ReadRecording, Diagnostics> {
        let unknown = unknown_severity(self.options.strict);
        let format = self.detector.finish()?;
        if let (false, DetectedFormat::Audit(log)) = (self.options.partial, &format) {
            if let Some(error) = log.unread() {
                return Err(error.into());
            }
        }
        let mut programs = LogPrograms::default();
        let (recording, messages) = match format {
            DetectedFormat::Audit(mut log) => {
                programs = log.take_programs();
                log.finish()
            }
            _ if !self.selection.is_empty() => return Err(no_programs().into()),
            DetectedFormat::Json(text) => {
                let mut reader = Reader::new(&text, KeyMatching::Exact);
                let recording = json::read(&text, &mut reader, unknown, self.options.partial);
                (recording, reader.into_messages())
            }
            DetectedFormat::Strace(log) => log.finish(),
            DetectedFormat::Counts(table) => of_table(*table, self.options.arch, unknown),
        };
        match self.selection.is_empty() {
            false if recording.is_empty() && !messages.failed() => {
                Err(not_in_log(&self.selection).into())
            }
            _ => checked(recording, messages).map(|read| ReadRecording { programs, ..read }),
        }
    }
}

fn no_programs() -> Diagnostic {
    Diagnostic::error(None, "only audit records name their programs")
        .help("give an audit log, or all syscalls of this recording")
}

fn not_in_log(selection: &Selection) -> Diagnostic {
    let selected = shorten(&selection.to_string());
    Diagnostic::error(None, format!("no record of {selected} in this log")).help(
        "give the name in `comm`, the path in `exe`, or pid:N; only entries of the journal in JSON name units and containers",
    )
}

/// A recording from a table of counts, all of one architecture.
fn of_table(table: CountTable, arch: Arch, unknown: Severity) -> (Recording, Messages) {
    let mut recording = Recording::of(Run { method: RecordingMethod::Counts, ..Run::default() });
    let (names, mut messages) = table.finish(Advice::SupportedRecordings);
    for counted in names {
        match arch.number(&counted.name) {
            Some(nr) => recording.count(SyscallId::new(arch, nr), counted.rounded),
            None => not_on_arch(&mut messages, unknown, counted.at, arch, &counted.name),
        }
    }
    (recording, messages)
}
