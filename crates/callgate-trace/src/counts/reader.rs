//! Reads counts from a text in any form.

use super::table;
use crate::read as recording;
use crate::recording::Recording;
use crate::recording::json::read as json;
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_bpf::syscalls::{self, Arch};
use callgate_codegen::Count;
use callgate_formats::keys::Keys;
use callgate_formats::messages::{Messages, Report};
use callgate_formats::reader;
use callgate_formats::tree::shorten;

/// What a text says about how often calls happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// In the order of the text; finite numbers, none negative.
    pub counts: Vec<Count>,
    /// What is left out, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Reads counts; with `strict`, unknown names are errors. `arch` is whose calls are in a log that does not say
/// it: that of the filter that the counts are for.
///
/// ```
/// use callgate_bpf::Arch;
/// use callgate_codegen::Weights;
/// use callgate_trace::counts;
///
/// let read = counts::read("futex 870063\nread 2024\n", Arch::X86_64, false).map_err(|errors| format!("{errors:?}"))?;
/// assert_eq!((read.counts[0].name.as_str(), read.counts[0].count), ("futex", 870_063.0));
/// let weights = Weights::of(read.counts).map_err(|error| error.to_string())?;
/// # assert_ne!(weights, Weights::uniform());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// All errors, and the warnings between them, in the order of the text.
pub fn read(text: &str, arch: Arch, strict: bool) -> Result<Counts, Vec<Diagnostic>> {
    let mut reader = Reader::new(arch, strict);
    reader.push(text.as_bytes())?;
    reader.finish()
}

/// Reads counts from a text that comes in pieces.
pub struct Reader {
    arch: Arch,
    strict: bool,
    text: recording::Text,
}

impl Reader {
    /// A reader of a text, as for [`read`].
    pub fn new(arch: Arch, strict: bool) -> Reader {
        let options = recording::Options { arch, strict, partial: false };
        Reader { arch, strict, text: recording::Text::new(&options, true) }
    }

    /// More bytes of the text.
    ///
    /// # Errors
    /// What makes all that follows worthless.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Vec<Diagnostic>> {
        self.text.push(bytes).map_err(|error| vec![with_help(error)])
    }

    /// What the whole text says.
    ///
    /// # Errors
    /// As [`read`].
    pub fn finish(self) -> Result<Counts, Vec<Diagnostic>> {
        let (arch, strict) = (self.arch, self.strict);
        let (counts, mut messages) =
            match self.text.end().map_err(|error| vec![with_help(error)])? {
                recording::Form::Json(text) => of_recording(&text, unknown(strict)),
                recording::Form::Audit(log) => return of_log(log.finish(), arch, true, strict),
                recording::Form::Strace(log) => return of_log(log.finish(), arch, false, strict),
                recording::Form::Counts(log) => {
                    let (tallies, messages) = log.finish(HELP);
                    let count = |tally: table::Tally| Count {
                        arch: None,
                        name: tally.name,
                        count: tally.count,
                    };
                    (tallies.into_iter().map(count).collect(), messages)
                }
            };
        if !messages.failed() && counts.iter().all(|count| count.count == 0.0) {
            if counts.is_empty() {
                messages.error(START, "no counts in this file").help = HELP.to_owned();
            } else {
                messages.error(START, "every count in this file is 0").help =
                    "leave the weights out, or count again".to_owned();
            }
        }
        let failed = messages.failed();
        let messages = messages.finish();
        if failed { Err(messages) } else { Ok(Counts { counts, warnings: messages }) }
    }
}

fn with_help(error: Diagnostic) -> Diagnostic {
    if error.help.is_empty() { error.help(HELP) } else { error }
}

const START: Position = Position { line: 1, column: 1 };

/// What to do about a text without counts.
const HELP: &str = "write one line per call, its name and how often it happens, or give a table of \
                    strace -c or perf trace -s";

/// The counts of a recording; calls that the tables do not know are left out.
fn of_recording(text: &str, unknown: Severity) -> (Vec<Count>, Messages) {
    let mut reader = reader::Reader::new(text, Keys::Exact);
    let mut counts = Vec::new();
    let Some(tree) = json::parse(text, &mut reader) else {
        return (counts, reader.into_messages());
    };
    for entry in json::entries(&mut reader, &tree) {
        entry.complain(&mut reader, unknown);
        let number = entry.known.as_ref().ok();
        // Where a number has two names, weights go by the first.
        if let Some(name) = number.and_then(|number| entry.arch.call_name(*number)) {
            let count = entry.count as f64;
            counts.push(Count { arch: Some(entry.arch), name: name.to_owned(), count });
        }
    }
    (counts, reader.into_messages())
}

fn unknown(strict: bool) -> Severity {
    if strict { Severity::Error } else { Severity::Warning }
}

/// The counts of a log; `arch` is whose calls are in it, where it does not say so.
fn of_log(
    (recording, messages): (Recording, Messages),
    arch: Arch,
    tells_arches: bool,
    strict: bool,
) -> Result<Counts, Vec<Diagnostic>> {
    let recording::Read { recording, mut warnings } = recording::read_of(recording, messages)?;
    let mut counts = Vec::new();
    for (call, seen) in recording.calls() {
        match call.name() {
            Some(name) => counts.push(Count {
                // As for a name alone.
                arch: (tells_arches || call.arch != arch).then_some(call.arch),
                name: name.to_owned(),
                count: seen.count() as f64,
            }),
            None => {
                let message = format!("{} has no call with the number {}", call.arch, call.nr);
                let unknown =
                    Diagnostic { severity: unknown(strict), ..Diagnostic::error(None, message) };
                warnings.push(unknown.help("newer calls need a newer version"));
            }
        }
    }
    if counts.is_empty() || warnings.iter().any(|one| one.severity == Severity::Error) {
        if counts.is_empty() {
            warnings.push(Diagnostic::error(None, "no counts in this file").help(HELP));
        }
        return Err(warnings);
    }
    Ok(Counts { counts, warnings })
}

/// How many unknown names get a suggestion: a text that is something else may have a million.
pub(crate) const SUGGESTIONS: usize = 50;

/// What is the matter with a name that no kernel knows.
pub(crate) fn unknown_name<R: Report>(reader: &mut R, severity: Severity, at: R::At, name: &str) {
    if reader.leave_out(severity) {
        return;
    }
    let mut message = format!("\"{}\" is not the name of a system call", shorten(name));
    if severity == Severity::Warning {
        message += "; it is left out";
    }
    let suggest = reader.reported(severity) < SUGGESTIONS;
    let near = if suggest { syscalls::nearest_name(name) } else { None };
    reader.report(severity, at, message).help = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "names are those of the kernel's tables, such as openat or futex".to_owned(),
    };
}
