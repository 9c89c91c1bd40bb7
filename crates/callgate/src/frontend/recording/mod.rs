//! What programs called, as Callgate and other tools write it down. The content tells the form:
//!
//! - a recording in JSON, the form below;
//! - a log of `strace` ([`strace`](self#logs-of-strace));
//! - the audit log's records of seccomp, raw or interpreted ([`audit`](self#audit-logs));
//! - counts alone: two columns, tables of `strace -c` and `perf trace -s`, see [`counts`].
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
//! | `args` | one item for each argument, from the first on; `null`, or an item that is not there: nothing is known |
//!
//! | key of an argument | value |
//! |---|---|
//! | `values` | all values that it had, at most 32; or instead: |
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
mod cut;
pub(in crate::frontend) mod json;
mod strace;

use super::counts;
use super::keys::Keys;
use super::reader::Reader;
use crate::diagnostic::{Diagnostic, Severity};
use crate::recording::{CallId, How, Recording, Run};
use crate::syscalls::Arch;

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
/// use callgate::Arch;
/// use callgate::frontend::recording::{self, Options};
/// use callgate::recording::CallId;
///
/// let log = "1234 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = 3\n1234 close(3) = 0\n";
/// let read = recording::read(log, &Options { arch: Arch::X86_64, strict: true, partial: false })
///     .map_err(|errors| format!("{errors:?}"))?;
/// let close = read.recording.get(CallId::new(Arch::X86_64, 3)).ok_or("close(2) was called")?;
/// assert_eq!(close.args()[0].all(), Some(&[3][..]));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// All errors, and the warnings between them, in the order of the text. A text without calls is one.
pub fn read(text: &str, options: &Options) -> Result<Read, Vec<Diagnostic>> {
    let unknown = if options.strict { Severity::Error } else { Severity::Warning };
    let mut reader = Reader::new(text, Keys::Exact);
    let recording = match form(text) {
        Form::Binary(at) => {
            counts::not_text(&mut reader, at);
            Recording::default()
        }
        Form::Json => json::read(text, &mut reader, unknown, options.partial),
        Form::Audit => audit::read(text, &mut reader, unknown),
        Form::Strace => strace::read(text, &mut reader, options.arch, unknown),
        Form::Counts => read_counts(text, &mut reader, options.arch, unknown),
    };
    if !reader.failed() && recording.is_empty() {
        reader.error(0, "no calls in this file").help = FORMS.to_owned();
    }
    let failed = reader.failed();
    let messages = reader.finish();
    if failed { Err(messages) } else { Ok(Read { recording, warnings: messages }) }
}

/// What can be read, and which commands make it.
const FORMS: &str = "give a recording (callgate record -o FILE -- CMD), a log of strace (strace -f -o FILE CMD), \
                     a table of strace -c or perf trace -s, audit records (ausearch -m SECCOMP, \
                     journalctl, dmesg), or lines of a name and a count";

enum Form {
    /// Not text: a zero byte is here.
    Binary(usize),
    Json,
    Strace,
    Audit,
    Counts,
}

fn form(text: &str) -> Form {
    if let Some(at) = text.find('\0') {
        Form::Binary(at)
    } else if is_json(text) {
        // Looked at first: strings in it may hold anything.
        Form::Json
    } else if text.lines().any(audit::is_record) {
        Form::Audit
    } else if strace::is_log(text) {
        Form::Strace
    } else {
        Form::Counts
    }
}

/// Whether a log that tells of calls one by one tells their architectures, too: one of the audit system
/// does, one of strace does not. `None` for other texts.
pub(in crate::frontend) fn log_tells_arches(text: &str) -> Option<bool> {
    match form(text) {
        Form::Audit => Some(true),
        Form::Strace => Some(false),
        _ => None,
    }
}

/// Whether a text is meant as JSON: a list of objects, too, which is no recording. Lines of other logs begin
/// with a bracket and a word or a number: `[pid 12]`, `[   12.345678]`.
pub(in crate::frontend) fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let item = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{')
        || item.is_some_and(|item| item.is_empty() || item.starts_with(['{', '[', '"', ']']))
}

/// Counts for one architecture.
fn read_counts(text: &str, reader: &mut Reader<'_>, arch: Arch, unknown: Severity) -> Recording {
    let mut recording = Recording::of(Run { how: How::Counts, ..Run::default() });
    for (at, count) in counts::table::read(text, reader, unknown, FORMS) {
        match arch.number(&count.name) {
            // Some tools count in fractions; what happened at all happened once.
            Some(nr) => recording.count(CallId::new(arch, nr), count.count.ceil() as u64),
            None => not_of(reader, unknown, at, arch, &count.name),
        }
    }
    recording
}

/// Says that an architecture does not have a call.
fn not_of(reader: &mut Reader<'_>, severity: Severity, at: usize, arch: Arch, name: &str) {
    let mut message = format!("{arch} has no call \"{name}\"");
    if severity == Severity::Warning {
        message += "; it is left out";
    }
    reader.report(severity, at, message).help =
        "name the architecture whose calls these are, with --arch".to_owned();
}

#[cfg(test)]
mod tests;
