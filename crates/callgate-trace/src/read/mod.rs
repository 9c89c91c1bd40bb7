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

mod detect;
mod reader;

pub(crate) use detect::{Form, Text};
pub use reader::{Options, Read, Reader, VERSION, read};
pub(crate) use reader::{not_of, read_of};

#[cfg(test)]
mod tests;
