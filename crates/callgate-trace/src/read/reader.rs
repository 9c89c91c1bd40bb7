//! Reads recordings in any form.

use super::detect::{Form, Text};
use crate::counts::table;
use crate::recording::json::read as json;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_bpf::syscalls::Arch;
use callgate_formats::keys::Keys;
use callgate_formats::messages::{Messages, Report};
use callgate_formats::reader;

/// The version of recordings in JSON.
pub const VERSION: u64 = 1;

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose calls they are where the text does not say it.
    pub arch: Arch,
    /// Names that no kernel knows are errors.
    pub strict: bool,
    /// A recording in JSON that is cut off is no error: its whole entries are read. The run that is in it
    /// has one lost call more, as nobody knows how many there were.
    pub partial: bool,
}

impl Options {
    /// What a name is that no kernel knows.
    pub(super) fn unknown(&self) -> Severity {
        if self.strict { Severity::Error } else { Severity::Warning }
    }
}

/// A recording, and what is to be said of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The calls.
    pub recording: Recording,
    /// What is left out, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Reads what programs called.
///
/// ```
/// use callgate_bpf::Arch;
/// use callgate_trace::read::{self, Options};
/// use callgate_trace::recording::CallId;
///
/// let log = "1234 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n1234 close(3) = 0\n";
/// let read = read::read(log, &Options { arch: Arch::X86_64, strict: true, partial: false })
///     .map_err(|errors| format!("{errors:?}"))?;
/// let close = read.recording.get(CallId::new(Arch::X86_64, 3)).ok_or("close(2) was called")?;
/// assert_eq!(close.args()[0].all(), Some(&[3][..]));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// All errors, and the warnings between them, in the order of the text. A text without calls is one.
pub fn read(text: &str, options: &Options) -> Result<Read, Vec<Diagnostic>> {
    let mut reader = Reader::new(options);
    reader.push(text.as_bytes())?;
    reader.finish()
}

/// Reads what programs called from a text that comes in pieces. A log is not kept, so it may be larger than the
/// memory; a recording in JSON is, up to 64 MiB.
///
/// ```
/// use callgate_bpf::Arch;
/// use callgate_trace::read::{Options, Reader};
///
/// let mut reader = Reader::new(&Options { arch: Arch::X86_64, strict: true, partial: false });
/// for piece in ["close(3) = 0\ncl", "ose(4) = 0\n"] {
///     reader.push(piece.as_bytes()).map_err(|errors| format!("{errors:?}"))?;
/// }
/// let read = reader.finish().map_err(|errors| format!("{errors:?}"))?;
/// assert_eq!(read.recording.total(), 2);
/// # Ok::<(), String>(())
/// ```
pub struct Reader {
    options: Options,
    text: Text,
}

impl Reader {
    /// A reader of a text.
    pub fn new(options: &Options) -> Reader {
        Reader { options: *options, text: Text::new(options, false) }
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
    pub fn finish(self) -> Result<Read, Vec<Diagnostic>> {
        let unknown = self.options.unknown();
        let (recording, messages) = match self.text.end().map_err(|error| vec![with_help(error)])? {
            Form::Json(text) => {
                let mut reader = reader::Reader::new(&text, Keys::Exact);
                let recording = json::read(&text, &mut reader, unknown, self.options.partial);
                (recording, reader.into_messages())
            }
            Form::Audit(log) => log.finish(),
            Form::Strace(log) => log.finish(),
            Form::Counts(log) => of_counts(log, self.options.arch, unknown),
        };
        read_of(recording, messages)
    }
}

fn with_help(error: Diagnostic) -> Diagnostic {
    if error.help.is_empty() { error.help(FORMS) } else { error }
}

/// A recording, unless something is wrong.
pub(crate) fn read_of(
    recording: Recording,
    mut messages: Messages,
) -> Result<Read, Vec<Diagnostic>> {
    if !messages.failed() && recording.is_empty() {
        messages.error(Position { line: 1, column: 1 }, "no calls in this file").help =
            FORMS.to_owned();
    }
    let failed = messages.failed();
    let messages = messages.finish();
    if failed { Err(messages) } else { Ok(Read { recording, warnings: messages }) }
}

/// What can be read, and which commands make it.
const FORMS: &str = "give a recording (callgate record -o FILE -- CMD), a log of strace (strace -f -o FILE CMD), \
                     a table of strace -c or perf trace -s, audit records (ausearch -m SECCOMP, \
                     journalctl, dmesg), or lines of a name and a count";

/// Counts for one architecture.
fn of_counts(log: table::Log, arch: Arch, unknown: Severity) -> (Recording, Messages) {
    let mut recording = Recording::of(Run { how: How::Counts, ..Run::default() });
    let (tallies, mut messages) = log.finish(FORMS);
    for tally in tallies {
        match arch.number(&tally.name) {
            Some(nr) => recording.count(CallId::new(arch, nr), tally.calls),
            None => not_of(&mut messages, unknown, tally.at, arch, &tally.name),
        }
    }
    (recording, messages)
}

/// Says that an architecture does not have a call.
pub(crate) fn not_of(
    messages: &mut Messages,
    severity: Severity,
    at: Position,
    arch: Arch,
    name: &str,
) {
    let mut message = format!("{arch} has no call \"{name}\"");
    if severity == Severity::Warning {
        message += "; it is left out";
    }
    messages.report(severity, at, message).help =
        "name the architecture whose calls these are, with --arch".to_owned();
}
