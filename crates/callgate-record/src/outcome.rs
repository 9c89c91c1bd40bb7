//! Results of recording.

use std::time::Duration;

use callgate_trace::recording::Recording;
use libc::c_int;

use crate::save::ExecutableRecording;
use crate::signals::Signals;
use crate::tally::Tallies;
use crate::{Note, RecordMethod};

/// A recording, and how it was made.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The syscalls, with one run.
    pub recording: Recording,
    /// The recordings of executables, in the order of their paths, if [`Save::wants_executables`] is true.
    ///
    /// [`Save::wants_executables`]: crate::Save::wants_executables
    pub executables: Vec<ExecutableRecording>,
    /// The method that worked.
    pub method: RecordMethod,
    /// Why the tracepoint method was not used, if it was tried first.
    pub why_not_tracepoint: Option<String>,
    /// How the command ended, as reported by `waitpid(2)`; 0 with [`Note::UnknownStatus`].
    pub status: i32,
    /// From the start of the command to the end of its last process.
    pub time: Duration,
    /// How much recording added to the cheapest syscall, measured before the command started. If another recorder
    /// already used the tracepoint, how much this one added to that.
    pub cost_per_syscall: Duration,
    /// Remarks on the run.
    pub notes: Vec<Note>,
}

/// The exit status that a shell reports for a status of `waitpid(2)`: 128 plus the signal number for a signal.
pub fn exit_status(status: i32) -> u8 {
    ended_by(status).map_or(libc::WEXITSTATUS(status) as u8, |signal| 128 + signal as u8)
}

/// The signal that ended a process, if one did, from a status of `waitpid(2)`.
pub fn ended_by(status: i32) -> Option<i32> {
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

/// The result of one method.
pub(super) struct Outcome {
    pub(super) tallies: Tallies,
    /// `None` if the status of the command is unknown.
    pub(super) status: Option<c_int>,
    pub(super) processes: u64,
    pub(super) threads: u64,
    pub(super) time: Duration,
    pub(super) cost: Duration,
    pub(super) notes: Vec<Note>,
    /// Held until the recording is saved.
    pub(super) signals: Signals,
}
