//! How syscalls are observed, and remarks on a recording, as text and as caveats in its file.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use callgate_trace::recording::{Caveat, Effect};

use crate::tally::MAX_THREADS;

/// A difference between what was recorded and what happens without a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// This set-user-ID or set-group-ID program ran without its privileges.
    WithoutPrivileges(PathBuf),
    /// The command called `ptrace`, which failed because a process has at most one tracer.
    TracesItself,
    /// The command tried to install a filter with a listener, which failed because a process has at most one, and
    /// that is the recorder's.
    Listens,
    /// The command started this many processes or threads with `CLONE_UNTRACED`. They are not recorded, and all of
    /// their syscalls failed, because the filter that reports syscalls found no tracer.
    Untraced(u64),
    /// Tracing failed, for this reason. All processes were killed; the recording ends there.
    Failed(String),
    /// The counters of the programs could no longer be read, for this reason. The recording ends there; the command
    /// continues.
    Unreadable(String),
    /// Filters denied this many syscalls; `None` if there are filters, but the number is unknown. Denied syscalls
    /// are recorded like all others.
    Denied(Option<u64>),
    /// The kernel did not report that this many threads ended: it does not run a program that would interrupt
    /// itself.
    UnseenEnds(usize),
    /// The recording of a container from its start was ended while this many threads ran.
    Stopped(u64),
    /// A signal ended the recording of running processes before its time was over.
    CutShort {
        /// When it ended.
        after: Duration,
        /// The time that was asked for.
        limit: Duration,
    },
    /// This many threads were not recorded, because the eBPF programs record at most [`MAX_THREADS`](crate::MAX_THREADS) at
    /// a time, those of all recorders that share the programs together.
    WithoutRoom(u64),
    /// This many processes ran in the cgroup of a starting container, besides its first one. They are recorded only from
    /// their next `execve` on.
    RanBefore(u64),
    /// No program was executed in the cgroup of a starting container.
    NothingExecuted,
    /// The recorder may not read in which syscalls this many threads waited when it attached to them.
    UnreadWaits(u64),
    /// Another part of this process waited for the command, or SIGCHLD was ignored when the command ended.
    UnknownStatus,
    /// A signal ended the recording while this many threads still ran, and they were killed.
    EndedOthers(usize),
    /// A signal ended the recording while this many threads still ran, and they continue.
    LeftOthers(usize),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::WithoutPrivileges(path) => write!(
                f,
                "{} ran without the privileges of its owner, so its syscalls may differ",
                path.display()
            ),
            Note::TracesItself => f.write_str(
                "the command called ptrace, which fails for processes that are recorded by ptrace",
            ),
            Note::Listens => f.write_str(
                "the command tried to install a filter with a listener, which fails for processes that are \
                 recorded by a listener",
            ),
            Note::Untraced(count) => write!(
                f,
                "the command started processes or threads with CLONE_UNTRACED, whose syscalls were not recorded \
                 and failed with ENOSYS: {count}"
            ),
            Note::Denied(count) => {
                match count {
                    Some(1) => f.write_str("filters denied 1 syscall; it is")?,
                    Some(count) => write!(f, "filters denied {count} syscalls; they are")?,
                    None => f.write_str("filters may have denied syscalls; those are")?,
                }
                f.write_str(" recorded like all others")
            }
            Note::Failed(why) => write!(
                f,
                "the command was killed because it could no longer be traced: {why}; the recording ends there"
            ),
            Note::Unreadable(why) => write!(
                f,
                "the counters of the recorder could no longer be read, so syscalls are missing: {why}"
            ),
            Note::RanBefore(count) => write!(
                f,
                "processes that ran in the cgroup before, and were recorded only from their next execve on: {count}"
            ),
            Note::NothingExecuted => {
                f.write_str("no program was executed in the cgroup while it was recorded")
            }
            Note::Stopped(count) => write!(
                f,
                "the recording was ended while threads still ran, so later syscalls are missing: {count}"
            ),
            Note::CutShort { after, limit } => write!(
                f,
                "a signal ended the recording after {:.1} s of {} s, so later syscalls are missing",
                after.as_secs_f64(),
                limit.as_secs_f64()
            ),
            Note::WithoutRoom(count) => write!(
                f,
                "threads that were not recorded, because recorders that share their programs record at most \
                 {MAX_THREADS} threads at a time: {count}"
            ),
            Note::UnreadWaits(count) => write!(
                f,
                "threads that may have waited in a syscall, which could not be read, when the recording started: {count}"
            ),
            Note::UnknownStatus => f.write_str("the command's exit status is unknown"),
            Note::UnseenEnds(count) => {
                write!(f, "threads whose end the kernel did not report: {count}")
            }
            Note::EndedOthers(count) => {
                write!(f, "threads that outlived the command and were killed with the recording: {count}")
            }
            Note::LeftOthers(count) => {
                write!(f, "threads that outlived the command and continue unrecorded: {count}")
            }
        }
    }
}

impl Note {
    /// Whether the recording ended before the command did, or the command's exit status is unknown.
    pub fn is_failure(&self) -> bool {
        matches!(self, Note::Failed(_) | Note::Unreadable(_) | Note::UnknownStatus)
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Note::WithoutPrivileges(_)
            | Note::TracesItself
            | Note::Untraced(_)
            | Note::Failed(_) => "record as root with --via tracepoint",
            Note::Listens => "record as root with --via tracepoint, or with --via stops",
            Note::UnknownStatus => {
                "do not wait for the command elsewhere, and leave SIGCHLD at its default action"
            }
            Note::UnreadWaits(_) => "record as root with all capabilities (CAP_SYS_PTRACE)",
            Note::Denied(_) => {
                "a profile generated from this recording allows them; to avoid that, record without filters"
            }
            Note::Unreadable(_) => "record again",
            Note::CutShort { .. } => {
                "record again, and let the recorder run until the time is over"
            }
            Note::WithoutRoom(_) => "record fewer processes at the same time",
            Note::RanBefore(_) => {
                "record the cgroup without --starting, or start the container in an empty one"
            }
            Note::NothingExecuted => "start the container while its cgroup is recorded",
            Note::UnseenEnds(_) => "record again if the last syscalls of these threads matter",
            Note::EndedOthers(_) | Note::LeftOthers(_) | Note::Stopped(_) => {
                "wait until they have ended"
            }
        }
    }
}

/// How syscalls are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMethod {
    /// By eBPF programs at the kernel's tracepoint `sys_enter`.
    Tracepoint,
    /// By seccomp notifications: each syscall waits until the listener of a filter lets it continue.
    Listener,
    /// By ptrace: each syscall stops for the tracer.
    Stops,
}

impl RecordMethod {
    /// All of them, the fastest first.
    pub const ALL: [RecordMethod; 3] =
        [RecordMethod::Tracepoint, RecordMethod::Listener, RecordMethod::Stops];
    /// Those that need no privilege, the fastest first.
    pub const PTRACE: [RecordMethod; 2] = [RecordMethod::Listener, RecordMethod::Stops];
}

impl Note {
    /// The note as a caveat of the run.
    pub(super) fn caveat(&self) -> Caveat {
        let threads = |threads: &usize| u64::try_from(*threads).ok();
        let (id, effect, count) = match self {
            Note::WithoutPrivileges(_) => ("without-privileges", Effect::Altered, None),
            Note::TracesItself => ("ptrace-refused", Effect::Altered, None),
            Note::Listens => ("listener-refused", Effect::Altered, None),
            Note::Untraced(threads) => ("unrecorded-threads", Effect::Incomplete, Some(*threads)),
            Note::Failed(_) => ("recorder-failed", Effect::Incomplete, None),
            Note::Unreadable(_) => ("counters-unreadable", Effect::Incomplete, None),
            Note::Denied(syscalls) => ("denied-calls", Effect::Excess, *syscalls),
            Note::UnseenEnds(ends) => ("unseen-ends", Effect::Altered, threads(ends)),
            Note::Stopped(threads) => ("stopped", Effect::Excerpt, Some(*threads)),
            Note::CutShort { .. } => ("cut-short", Effect::Excerpt, None),
            Note::WithoutRoom(threads) => ("without-room", Effect::Incomplete, Some(*threads)),
            Note::RanBefore(processes) => ("ran-before", Effect::Excerpt, Some(*processes)),
            Note::NothingExecuted => ("nothing-executed", Effect::Excerpt, None),
            Note::UnreadWaits(threads) => ("unread-waits", Effect::Excerpt, Some(*threads)),
            Note::UnknownStatus => ("unknown-status", Effect::Altered, None),
            Note::EndedOthers(others) => ("ended-by-recorder", Effect::Altered, threads(others)),
            Note::LeftOthers(others) => ("left-running", Effect::Incomplete, threads(others)),
        };
        Caveat { id: id.to_owned(), effect, count, text: self.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_has_an_identifier_of_its_own() {
        let notes = [
            Note::WithoutPrivileges("/bin/su".into()),
            Note::TracesItself,
            Note::Listens,
            Note::Untraced(2),
            Note::Failed("No such process".to_owned()),
            Note::Unreadable("No such file or directory".to_owned()),
            Note::Denied(Some(3)),
            Note::UnseenEnds(1),
            Note::Stopped(7),
            Note::CutShort { after: Duration::from_secs(2), limit: Duration::from_secs(60) },
            Note::WithoutRoom(9),
            Note::RanBefore(8),
            Note::NothingExecuted,
            Note::UnreadWaits(6),
            Note::UnknownStatus,
            Note::EndedOthers(4),
            Note::LeftOthers(5),
        ];
        let caveats: Vec<Caveat> = notes.iter().map(Note::caveat).collect();
        let mut ids: Vec<&str> = caveats.iter().map(|caveat| caveat.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), notes.len());
        let counts: Vec<u64> = caveats.iter().filter_map(|caveat| caveat.count).collect();
        assert_eq!(counts, [2, 3, 1, 7, 9, 8, 6, 4, 5]);
        // `generate` refuses recordings with missing syscalls.
        let missing = caveats.iter().filter(|caveat| caveat.effect == Effect::Incomplete);
        let missing: Vec<&str> = missing.map(|caveat| caveat.id.as_str()).collect();
        assert_eq!(
            missing,
            [
                "unrecorded-threads",
                "recorder-failed",
                "counters-unreadable",
                "without-room",
                "left-running"
            ]
        );
    }
}
