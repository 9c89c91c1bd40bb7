//! What programs called, as Callgate and other tools write it down. The content tells the form:
//!
//! - a recording in JSON, the form below;
//! - a log of `strace` ([`strace`](self#logs-of-strace));
//! - the audit log's records of seccomp, raw or interpreted ([`audit`](self#audit-logs));
//! - counts alone: two columns, tables of `strace -c` and `perf trace -s`, see [`counts`](crate::counts).
//!
//! Only a recording in JSON says whose calls they are; the others are taken for the architecture
//! that is given, except where they say otherwise. What is not understood is a message with its place.
//!
//! # Recordings in JSON
//!
//! ```json
//! {
//!   "callgate": "recording",
//!   "version": 1,
//!   "runs": [
//!     {"how": "ptrace", "command": ["ls"], "from": "execve", "processes": 1, "lost": 0}
//!   ],
//!   "calls": [
//!     {"arch": "x86_64", "name": "close", "nr": 3, "count": 12, "args": [{"values": ["0x3"]}]},
//!     {"arch": "x86", "name": "brk", "nr": 45, "count": 4}
//!   ]
//! }
//! ```
//!
//! | key | value |
//! |---|---|
//! | `callgate` | `"recording"` |
//! | `version` | 1; it changes when a reader of the former version would misunderstand the text |
//! | `runs` | what was recorded, one entry for each run of a command; may be left out |
//! | `calls` | in any order; entries of the same call add up |
//!
//! | key of a call | value |
//! |---|---|
//! | `arch` | whose call it is, in any spelling of [`Arch::from_name`] |
//! | `name` | the name that this architecture has for it; may be left out where `nr` is given |
//! | `nr` | the number as a filter sees it (x32's with its bit); may be left out where `name` is given |
//! | `count` | how often it happened, an integer from 0 to 2⁶³ − 1 |
//! | `runs` | in how many runs it was made, where recordings were merged; 1 when it is left out |
//! | `args` | one item for each argument, from the first on; `null`, or an item that is not there: nothing is known |
//!
//! | key of an argument | value |
//! |---|---|
//! | `values` | all values that it had, at most 32; or instead: |
//! | `seen_in` | beside `values`: in how many runs each was seen; all of the call's when it is left out |
//! | `min`, `max` | the smallest and the largest value, unsigned |
//! | `ever`, `always` | the bits that were set in some value, and those that were in every one |
//! | `observed` | how often the value was seen, where that is not the `count` of the call |
//!
//! Values have 64 bits, and many programs keep 53 of a number in JSON, so they are strings in
//! hexadecimal: `"0xffffff9c"`. Integers are read as well.
//!
//! | key of a run | value |
//! |---|---|
//! | `how` | `tracepoint`, `ptrace`, `strace`, `audit`, `counts` or `unknown` |
//! | `command` | the command and its arguments |
//! | `from` | `"execve"`: the first call is the `execve` of the command |
//! | `processes`, `threads` | how many there were |
//! | `lost` | how many calls happened that are not in the counts, at least |
//! | `status` | the exit status of the command, 128 and the number for a signal |
//! | `kernel`, `recorder` | the release of the kernel, the version of Callgate |
//! | `caveats` | what is to be said against the run: objects with `id`, `effect`, `text`, and `count` where it is known |
//!
//! | `effect` | what it does to the recording | `id` |
//! |---|---|---|
//! | `incomplete` | calls are missing | `lost-calls`, `cut-off`, `unrecorded-threads`, `left-running`, `recorder-failed` |
//! | `altered` | the program ran otherwise than without a recorder | `without-privileges`, `ptrace-refused`, `listener-refused`, `ended-by-recorder`, `unseen-ends`, `unknown-status` |
//! | `excess` | it has calls that did not succeed | `denied-calls` |
//!
//! Programs go by `id` where they know it, else by `effect`; `text` is for people. Identifiers never change their
//! meaning. `lost-calls` is not written: it is what `lost` says.
//!
//! Other keys are ignored: recorders may add what else they saw.
//!
//! A recording that is cut off is an error, which says how many of its calls are whole; [`Options::partial`]
//! reads those.
//!
//! # Logs of strace
//!
//! With or without `-f`, `-ff`, time stamps and what else strace puts before a call and behind it. A call
//! that is interrupted by others (`<unfinished ...>`) counts once. Names of flags, strings and structures
//! are no values; numbers are, as far as they are exact: on 32-bit interfaces, and for the reordered
//! arguments of `clone`, only in the form of `strace -e raw=all`, which shows the values of all arguments.
//! That a process changes to another interface strace says on standard error alone: in a file of its own
//! (`-o`), such calls are taken for those of the given architecture. A last line that is cut off counts, but
//! without values.
//!
//! # Audit logs
//!
//! Each record of the type `SECCOMP` (1326) is a call that some filter logged or denied: in the log of auditd,
//! and where there is none in that of the kernel (`dmesg`) and in the journal (`journalctl`). A journal may
//! have the same records twice, from the kernel's log and from the audit socket; they count once. The values
//! of arguments are in none. A last record that is cut off is left out where the number may be cut, too.

mod audit;
mod calls;
mod cut;
pub(crate) mod json;
mod strace;
mod text;

pub(crate) use self::text::{Form, Text};
use super::counts::table;
use crate::recording::{CallId, How, Recording, Run};
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_bpf::syscalls::Arch;
use callgate_formats::diagnostics::messages::{Messages, Report};
use callgate_formats::syntax::keys::KeyMatching;
use callgate_formats::syntax::reader;

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
    fn unknown(&self) -> Severity {
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
                let mut reader = reader::Reader::new(&text, KeyMatching::Exact);
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
fn not_of(messages: &mut Messages, severity: Severity, at: Position, arch: Arch, name: &str) {
    let mut message = format!("{arch} has no call \"{name}\"");
    if severity == Severity::Warning {
        message += "; it is left out";
    }
    messages.report(severity, at, message).help =
        "name the architecture whose calls these are, with --arch".to_owned();
}

#[cfg(test)]
mod tests;
