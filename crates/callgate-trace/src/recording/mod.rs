//! Recordings: which syscalls programs made, how often, and with which argument values.
//!
//! A [`Recording`] has an entry for each syscall ([`SyscallId`]: architecture and number) with its count and the
//! values of each argument. The values of each argument are kept separately; which of them occurred *together* is
//! not recorded. Syscall numbers without a name are kept as well: a newer kernel may define them, and a filter sees
//! them in any case.
//!
//! Recordings come from `callgate record`, from the logs and tables of other tools, and from JSON;
//! [`read`](crate::read) reads all of these, and [`Recording::to_json`] writes JSON. [`Recording::merge`] and [`Merger`]
//! combine recordings in any order. The result keeps how many runs made a syscall, and how many had a value, and which
//! runs these are if there are at most two ([`Evidence`]), so whatever is derived from several recordings can be
//! derived from the merged one. A [`Caveat`] records why a run may
//! differ from one without a recorder.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_trace::recording::{Recording, SyscallId};
//!
//! let mut recording = Recording::default();
//! recording.observe(SyscallId::new(Arch::X86_64, 3), &[7, 0, 0, 0, 0, 0]);
//! recording.observe(SyscallId::new(Arch::X86_64, 3), &[9, 0, 0, 0, 0, 0]);
//! let mut other = Recording::default();
//! other.count(SyscallId::new(Arch::X86_64, 3), 40);
//! recording.merge(other);
//!
//! let (close, stats) = recording.syscalls().next().ok_or("nothing recorded")?;
//! assert_eq!((close.name(), stats.count()), (Some("close"), 42));
//! // `close` has one argument, whose value is known for 2 of 42 occurrences.
//! assert_eq!(stats.args().len(), 1);
//! assert_eq!(stats.args()[0].all(), Some(&[7, 9][..]));
//! assert!(!stats.is_known(0));
//! # Ok::<(), &str>(())
//! ```
//!
//! # JSON format
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
//! | `version` | 1; incremented when a reader of the previous version would misunderstand the text |
//! | `runs` | the recorded runs of commands; optional |
//! | `calls` | syscalls in any order; entries of the same syscall add up |
//!
//! | key of an item of `calls` | value |
//! |---|---|
//! | `arch` | the ABI, in any spelling that [`Arch::from_name`](callgate_core::Arch::from_name) accepts |
//! | `name` | the name of the syscall on this architecture; optional if `nr` is given |
//! | `nr` | the number as a filter sees it (with x32's bit); optional if `name` is given |
//! | `count` | how often the syscall was made, an integer from 0 to 2⁶³ − 1 |
//! | `runs` | in how many runs it was made, for merged recordings; default 1 |
//! | `only_in` | the runs that made it, if there are at most two: their places in the list `runs` of the recording, from 0 |
//! | `common` | the labels that all runs have in common that made it; default: those that all runs of the recording have |
//! | `args` | one item per argument, starting with the first; `null` or a missing item: no value is known |
//!
//! | key of an item of `args` | value |
//! |---|---|
//! | `values` | all values of the argument, at most 32; or instead: |
//! | `seen_in` | with `values`: in how many runs each value was seen; default: the `runs` of the syscall |
//! | `only_in` | with `values`: for each value a list like `only_in` of the syscall, or null; default: that of the syscall if the value was seen in as many runs |
//! | `min`, `max` | the smallest and the largest value, unsigned |
//! | `ever`, `always` | the bits that were set in at least one value, and in all values |
//! | `observed` | how often a value was seen; default: the `count` of the syscall |
//!
//! Values have 64 bits, but many programs keep only 53 bits of a JSON number. Therefore values are strings in
//! hexadecimal: `"0xffffff9c"`. Integers are read as well.
//!
//! | key of an item of `runs` | value |
//! |---|---|
//! | `how` | the recording method: `tracepoint`, `ptrace`, `strace`, `audit`, `counts` or `unknown` |
//! | `command` | the command; its arguments only if the recorder was asked to keep them, because they may be passwords |
//! | `from` | `"execve"`: the first syscall is the `execve` of the command |
//! | `processes`, `threads` | how many there were |
//! | `lost` | a lower bound on the number of syscalls that were made but not counted |
//! | `status` | the exit status of the command, or 128 plus the signal number |
//! | `id` | 16 hexadecimal digits that the recorder chose at random; recordings with the same `id` are of the same run |
//! | `digest` | in merged recordings, for runs without `id`: 16 hexadecimal digits that depend on the recording of the run |
//! | `labels` | an object of at most 64 strings: where the run was, and what was run |
//! | `kernel`, `recorder` | the kernel release, the version of Callgate |
//! | `caveats` | why the run may differ from one without a recorder: objects with `id`, `effect`, `text` and optionally `count` |
//!
//! | `effect` | effect on the recording | `id` |
//! |---|---|---|
//! | `incomplete` | syscalls are missing | `lost-calls`, `cut-off`, `unrecorded-threads`, `left-running`, `without-room`, `recorder-failed`, `counters-unreadable`, `lost-records`, `unread-denials` |
//! | `excerpt` | a part of the run was recorded, as intended | `attached`, `cut-short`, `stopped`, `ran-before`, `nothing-executed`, `unread-waits` |
//! | `altered` | the program ran differently than without a recorder | `without-privileges`, `ptrace-refused`, `listener-refused`, `ended-by-recorder`, `unseen-ends`, `unknown-status` |
//! | `excess` | syscalls are included that were denied | `denied-calls` |
//!
//! Programs should go by the `id` if they know it, otherwise by the `effect`; `text` is for people. The meaning of an
//! `id` never changes. `lost-calls` is not written to files, because `lost` implies it.
//!
//! Other keys are ignored, so recorders may add information.
//!
//! A truncated recording is an error, which says how many complete entries of `calls` it has;
//! [`ReadOptions::partial`](crate::read::ReadOptions::partial) reads these.

mod evidence;
pub(crate) mod json;
mod labels;
pub(crate) mod limits;
mod merger;
mod model;
mod run;
mod values;

pub use evidence::Evidence;
pub use limits::{MAX_COUNT, MAX_LABELS, MAX_VALUES};
pub use merger::{MergeError, Merger, Merging};
pub use model::{Recording, SyscallId, SyscallStats};
pub use run::{Caveat, Effect, RecordingMethod, Run, RunId};
pub use values::{ArgValues, Bounds};

#[cfg(test)]
mod tests;
