//! Reads counts from a text in any format.

use super::table::CountedName;
use crate::names::unknown_severity;
use crate::read::TextPart;
use crate::read::detect::{DetectedFormat, FormatDetector, ReadRecording, checked};
use crate::recording::Recording;
use crate::recording::json::entry;
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position, Severity};
use callgate_codegen::Count;
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::Messages;
use callgate_formats::syntax::reader::KeyMatching;
use callgate_formats::syntax::reader::Reader;

/// The counts in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadCounts {
    /// In the order of the text; finite numbers, at least 0.
    pub counts: Vec<Count>,
    /// Warnings about what was ignored, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Reads counts. With `strict`, unknown names are errors. `arch` is the architecture of a log that does not name one;
/// use that of the filter.
///
/// ```
/// use callgate_core::Arch;
/// use callgate_codegen::Weights;
/// use callgate_trace::counts;
///
/// let read = counts::read("futex 870063\nread 2024\n", Arch::X86_64, false)?;
/// assert_eq!((read.counts[0].name.as_str(), read.counts[0].count), ("futex", 870_063.0));
/// let weights = Weights::of(read.counts)?;
/// # assert_ne!(weights, Weights::uniform());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All errors, and the warnings between them, in the order of the text.
pub fn read(text: &str, arch: Arch, strict: bool) -> Result<ReadCounts, Diagnostics> {
    let mut reader = CountReader::new(arch, strict);
    reader.push(text.as_bytes())?;
    reader.finish()
}

/// Reads counts from a text that arrives in pieces.
pub struct CountReader {
    arch: Arch,
    strict: bool,
    detector: FormatDetector,
}

impl CountReader {
    /// A reader with the parameters of [`read`].
    pub fn new(arch: Arch, strict: bool) -> CountReader {
        CountReader { arch, strict, detector: FormatDetector::new(arch, strict, true, HELP) }
    }

    /// Adds a piece of the text.
    ///
    /// # Errors
    /// An error after which the rest of the text is useless.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Diagnostics> {
        self.detector.push(bytes)
    }

    /// Adds the next part of a text from a [`TextSplitter`](crate::read::TextSplitter), instead of pieces of the text.
    /// The allocations remain in the part.
    ///
    /// # Errors
    /// An error after which the rest of the text is useless.
    pub fn add(&mut self, part: &mut TextPart) -> Result<(), Diagnostics> {
        self.detector.add(part)
    }

    /// The counts in the complete text.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn finish(self) -> Result<ReadCounts, Diagnostics> {
        let (arch, strict) = (self.arch, self.strict);
        let format = self.detector.finish()?;
        let (counts, mut messages) = match format {
            DetectedFormat::Json(text) => of_recording(&text, unknown_severity(strict)),
            DetectedFormat::Audit(log) => return of_log(log.finish(), arch, true, strict),
            DetectedFormat::Strace(log) => return of_log(log.finish(), arch, false, strict),
            DetectedFormat::Counts(table) => {
                let (names, messages) = table.finish(HELP);
                let count = |CountedName { name, count, .. }| Count { arch: None, name, count };
                (names.into_iter().map(count).collect(), messages)
            }
        };
        if !messages.failed() && counts.iter().all(|count| count.count == 0.0) {
            if counts.is_empty() {
                messages.error(START, "no counts in this file").help = HELP.to_owned();
            } else {
                messages.error(START, "every count in this file is 0").help =
                    "omit the weights, or count again".to_owned();
            }
        }
        let failed = messages.failed();
        let messages = messages.finish();
        if failed { Err(messages.into()) } else { Ok(ReadCounts { counts, warnings: messages }) }
    }
}

const START: Position = Position { line: 1, column: 1 };

/// What to do about a text without counts.
const HELP: &str = "write one line per syscall with its name and count, or give a table of strace -c or \
                    perf trace -s";

/// The counts of a recording; syscalls without a name are reported.
fn of_recording(text: &str, unknown: Severity) -> (Vec<Count>, Messages) {
    let mut reader = Reader::new(text, KeyMatching::Exact);
    let mut counts = Vec::new();
    let Some(tree) = entry::parse(text, &mut reader) else {
        return (counts, reader.into_messages());
    };
    for entry in entry::entries(&mut reader, &tree) {
        entry.report_unknown(&mut reader, unknown);
        let number = entry.resolved.as_ref().ok();
        // If a number has two names, weights use the first.
        if let Some(name) = number.and_then(|number| entry.arch.syscall_name(*number)) {
            let count = entry.count as f64;
            counts.push(Count { arch: Some(entry.arch), name: name.to_owned(), count });
        }
    }
    (counts, reader.into_messages())
}

/// The counts of a log. `arch` is its architecture unless it `names_arches`.
fn of_log(
    (recording, messages): (Recording, Messages),
    arch: Arch,
    names_arches: bool,
    strict: bool,
) -> Result<ReadCounts, Diagnostics> {
    let ReadRecording { recording, mut warnings, .. } = checked(recording, messages)?;
    let mut counts = Vec::new();
    for (syscall, stats) in recording.syscalls() {
        match syscall.name() {
            Some(name) => counts.push(Count {
                // Without an architecture, as in a table, if the log does not name it.
                arch: (names_arches || syscall.arch != arch).then_some(syscall.arch),
                name: name.to_owned(),
                count: stats.count() as f64,
            }),
            None => {
                let message =
                    format!("{} has no syscall with the number {}", syscall.arch, syscall.nr);
                let severity = unknown_severity(strict);
                let unknown = Diagnostic { severity, ..Diagnostic::error(None, message) };
                warnings.push(unknown.help("newer syscalls need a newer version of callgate"));
            }
        }
    }
    if counts.is_empty() || warnings.iter().any(|one| one.severity == Severity::Error) {
        if counts.is_empty() {
            warnings.push(Diagnostic::error(None, "no counts in this file").help(HELP));
        }
        return Err(warnings.into());
    }
    Ok(ReadCounts { counts, warnings })
}
