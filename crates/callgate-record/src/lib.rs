//! What a command and everything that it starts calls.
//!
//! Three ways have one result:
//!
//! - [`Way::Tracepoint`]: the kernel counts by itself, in a small program at its tracepoint for calls. It
//!   slows calls by some 0.3 µs, those of other processes nearly as much, and needs root (CAP_BPF and CAP_PERFMON), x86-64, and a kernel from 5.15 on
//!   with type information.
//! - [`Way::Listener`]: each call waits until the listener of a filter lets it go on, and ptrace tells what
//!   starts, ends and gets signals. It needs no privilege, x86-64, and Linux 6.6. It costs a call some
//!   microseconds. One filter of a process may have a listener, so the command can have none.
//! - [`Way::Stops`]: ptrace tells of calls too, each of which stops for the recorder. It needs no privilege,
//!   and Linux 5.3.
//!
//! The first call that counts is the `execve` of the command. Processes that outlive the command are
//! waited for. What could not be counted is in [`Run::lost`](callgate::recording::Run::lost).
//!
//! ```no_run
//! use callgate_linux::Command;
//! use callgate_record::{Way, exit_status, record};
//!
//! let command = Command::find(&["ls".into(), "-l".into()])?;
//! let recorded = record(&command, vec!["ls".into(), "-l".into()], &Way::ALL)?;
//! println!("{} calls, status {}", recorded.recording.total(), exit_status(recorded.status));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bpf;
mod caveat;
mod ptrace;
mod save;
mod signals;
mod start;
mod tick;
mod tracer;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use callgate::recording::{ArgValues, CallId, Recording};
use libc::c_int;

use callgate_linux::error_text;
use callgate_linux::{Command, ExecError};
use ptrace::Calls;
use save::{Counts, Facts, Nowhere, Parts};
use signals::Signals;
use start::Stopped;

pub use save::Save;

/// How many different calls are kept: more than an interface has. A program that makes calls by random
/// numbers exceeds it, and is told what was lost. In the kernel they take 0.9 MB for each processor.
pub const MAX_CALLS: usize = 512;

/// How calls are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The kernel's tracepoint `sys_enter`, by a program in the kernel.
    Tracepoint,
    /// A tracer, for whom calls wait, by a listener of seccomp.
    Listener,
    /// A tracer, for whom calls stop.
    Stops,
}

impl Way {
    /// The fastest first.
    pub const ALL: [Way; 3] = [Way::Tracepoint, Way::Listener, Way::Stops];
    /// Those by ptrace, which need no privilege; the fastest first.
    pub const PTRACE: [Way; 2] = [Way::Listener, Way::Stops];
}

/// What was recorded, and how.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The calls, with one run.
    pub recording: Recording,
    /// How they were observed.
    pub way: Way,
    /// Why not by the kernel's tracepoint, when that was tried first.
    pub why_not_tracepoint: Option<String>,
    /// How the command ended, as `waitpid(2)` gives it; 0 with [`Note::UnknownStatus`].
    pub status: i32,
    /// From the start of the command to the end of the last process.
    pub time: Duration,
    /// What recording added to a call, measured with the cheapest call before the command started. Beside another
    /// recorder of the kernel, what this one added to that.
    pub cost_per_call: Duration,
    /// What is to be said of the run.
    pub notes: Vec<Note>,
}

/// Something that makes a recording differ from what happens without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// This set-user-ID or set-group-ID program ran without its privileges.
    WithoutPrivileges(PathBuf),
    /// The command called `ptrace`, but a process has one tracer.
    TracesItself,
    /// The command asked for a listener of a filter, but a process has one, and that is the recorder's: the
    /// filter was not installed.
    Listens,
    /// The command started this many processes or threads with `CLONE_UNTRACED`: they are not recorded,
    /// and all their calls failed, because the filter that reports calls found no tracer.
    Untraced(u64),
    /// Tracing failed, for this reason. All processes were ended, and what was recorded until then is
    /// kept.
    Failed(String),
    /// Filters denied so many calls; or there are filters, and nobody knows how many they denied.
    /// Denied calls are recorded as all others are.
    Denied(Option<u64>),
    /// The kernel did not tell that so many threads ended: it skips a program that interrupts itself.
    UnseenEnds(usize),
    /// Somebody else in this process waited for the command, or SIGCHLD was ignored when it ended.
    UnknownStatus,
    /// A signal ended the waiting for so many threads, which were ended too.
    EndedOthers(usize),
    /// A signal ended the waiting for so many threads, which go on.
    LeftOthers(usize),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::WithoutPrivileges(path) => write!(
                f,
                "{} ran without the privileges of its owner, so it may have called something else",
                path.display()
            ),
            Note::TracesItself => f.write_str(
                "the command called ptrace, which fails for processes that are recorded by ptrace",
            ),
            Note::Listens => f.write_str(
                "the command asked for the listener of a filter, which fails for processes that are \
                 recorded by a listener",
            ),
            Note::Untraced(count) => write!(
                f,
                "processes or threads to be started with CLONE_UNTRACED, whose calls were not recorded and \
                 failed with ENOSYS: {count}"
            ),
            Note::Denied(count) => {
                match count {
                    Some(1) => f.write_str("a filter denied a call, which is")?,
                    Some(count) => {
                        write!(f, "filters denied {count} calls, which are")?;
                    }
                    None => f.write_str("calls that filters denied, if any, are")?,
                }
                f.write_str(" recorded as all others are")
            }
            Note::Failed(why) => write!(
                f,
                "the command was ended because it could not be traced any more: {why}; what it called \
                 until then is recorded"
            ),
            Note::UnknownStatus => f.write_str("nobody knows how the command ended"),
            Note::UnseenEnds(count) => {
                write!(f, "threads whose end the kernel did not tell: {count}")
            }
            Note::EndedOthers(count) => {
                write!(f, "threads that were left behind, and ended with the recording: {count}")
            }
            Note::LeftOthers(count) => {
                write!(f, "threads that were left behind, and go on unrecorded: {count}")
            }
        }
    }
}

impl Note {
    /// Whether the recording ended before the command did, or how that ended is not known: its exit status
    /// says nothing then.
    pub fn is_failure(&self) -> bool {
        matches!(self, Note::Failed(_) | Note::UnknownStatus)
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Note::WithoutPrivileges(_)
            | Note::TracesItself
            | Note::Untraced(_)
            | Note::Failed(_) => "record as root, with the kernel's tracepoint",
            Note::Listens => {
                "record as root, with the kernel's tracepoint, or by stops (callgate record --via stops)"
            }
            Note::UnknownStatus => "leave the command to the recorder, and SIGCHLD at its default",
            Note::Denied(_) => {
                "a profile made of this recording grants them; record without filters, or remove them"
            }
            Note::UnseenEnds(_) => "record again if calls at their end matter",
            Note::EndedOthers(_) | Note::LeftOthers(_) => "wait until they have ended",
        }
    }
}

/// Records a command by the first of these ways that works.
///
/// `words` are the command as it will stand in the recording. Returns when the command and everything
/// that it started has ended, or a signal came after the command had ended. Signals at the terminal are
/// the command's; those that are sent to this process are passed on to it meanwhile. So a process records
/// one command at a time; another thread that wants to waits.
///
/// By ptrace, all children of the calling thread are waited for: the status of one that has nothing to do
/// with the command and ends meanwhile is lost. Start and wait for such children in another thread. SIGCHLD
/// comes for each stop, so that calls which the caller's other threads make may end with EINTR.
///
/// # Errors
/// When the command cannot be executed, or recording is impossible; then it was not started. Of several ways
/// that do not work, the last says why.
pub fn record(
    command: &Command,
    words: Vec<String>,
    ways: &[Way],
) -> Result<Recorded, RecordError> {
    record_to(command, words, ways, &mut Nowhere)
}

/// The same, and saves the recording before a signal can end this process: a recording may have taken hours, and
/// who ends it may send more than one signal (`timeout(1)` does). Parts of it are saved meanwhile.
///
/// # Errors
/// As [`record`]; nothing was saved then, but parts of a recording that nobody could end may have been.
pub fn record_to(
    command: &Command,
    words: Vec<String>,
    ways: &[Way],
    save: &mut dyn Save,
) -> Result<Recorded, RecordError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut why_not = None;
    let mut result = Err(Kind::NoWay.into());
    let mut facts = Facts { way: Way::Stops, command: words };
    for way in ways {
        facts.way = *way;
        let parts = Parts::new(&mut *save, facts.clone());
        result = match way {
            Way::Tracepoint => bpf::Recorder::new()
                .map_err(|why| Kind::Tracepoint(why).into())
                .and_then(|recorder| recorder.record(command, parts)),
            Way::Listener => ptrace::record(command, Calls::Wait, parts),
            Way::Stops => ptrace::record(command, Calls::Stop, parts),
        };
        match &result {
            Err(RecordError { kind: Kind::Tracepoint(why) }) => why_not = Some(why.to_string()),
            Err(RecordError { kind: Kind::NoListener(_) }) => {}
            _ => break,
        }
    }
    let Outcome { tally, status, processes, threads, time, cost, mut notes, signals } = result?;
    if status.is_none() {
        notes.push(Note::UnknownStatus);
    }
    let mut recording = tally.recording;
    let counts = Counts { processes, threads, lost: tally.lost };
    let caveats = notes.iter().map(Note::caveat).collect();
    recording.push_run(facts.run(counts, status.map(exit_status), caveats));
    signals.wait_for_saving();
    save.whole(&recording);
    drop(signals);
    Ok(Recorded {
        recording,
        way: facts.way,
        why_not_tracepoint: why_not,
        status: status.unwrap_or(0),
        time,
        cost_per_call: cost,
        notes,
    })
}

/// The exit status that a shell reports for what `waitpid(2)` gives: 128 and the number for a signal.
pub fn exit_status(status: i32) -> u8 {
    ended_by(status).map_or(libc::WEXITSTATUS(status) as u8, |signal| 128 + signal as u8)
}

/// The signal that ended a process, if one did, from what `waitpid(2)` gives.
pub fn ended_by(status: i32) -> Option<i32> {
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

/// What one of the ways brings home.
struct Outcome {
    tally: Tally,
    /// `None` when nobody knows.
    status: Option<c_int>,
    processes: u64,
    threads: u64,
    time: Duration,
    cost: Duration,
    notes: Vec<Note>,
    /// They are held until the recording is saved.
    signals: Signals,
}

/// Calls, bounded by [`MAX_CALLS`].
#[derive(Clone, Default)]
struct Tally {
    recording: Recording,
    lost: u64,
}

impl Tally {
    fn has_room_for(&self, call: CallId) -> bool {
        self.recording.get(call).is_some() || self.recording.calls().len() < MAX_CALLS
    }

    fn count(&mut self, call: CallId, args: &[u64; 6]) {
        if self.has_room_for(call) {
            self.recording.observe(call, args);
        } else {
            self.lost = self.lost.saturating_add(1);
        }
    }

    fn add(&mut self, call: CallId, count: u64, args: impl IntoIterator<Item = ArgValues>) {
        if self.has_room_for(call) {
            self.recording.add(call, count, args);
        } else {
            self.lost = self.lost.saturating_add(count);
        }
    }

    fn called(&self, name: &str) -> bool {
        self.recording.calls().any(|(call, _)| call.name() == Some(name))
    }
}

/// Why a command was not recorded.
#[derive(Debug)]
pub struct RecordError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Start(io::Error),
    NotExecuted(ExecError),
    Filter(io::Error),
    Ptrace(io::Error),
    TooOld,
    Tracepoint(bpf::BpfError),
    Wait(io::Error),
    NoListener(Option<io::Error>),
    NoWay,
    Ended,
}

impl Kind {
    fn of(stopped: Stopped, command: &Command) -> Kind {
        match stopped {
            Stopped::NoFilter(why) => Kind::Filter(why),
            Stopped::NotExecuted(why) => Kind::NotExecuted(command.failed(why)),
        }
    }
}

impl From<Kind> for RecordError {
    fn from(kind: Kind) -> RecordError {
        RecordError { kind }
    }
}

impl RecordError {
    /// The exit status with which a shell reports this, when the command could not be executed; else 2.
    pub fn exit_status(&self) -> u8 {
        match &self.kind {
            Kind::NotExecuted(error) => error.exit_status(),
            _ => 2,
        }
    }

    /// What to do about it; may be empty.
    pub fn help(&self) -> &'static str {
        match &self.kind {
            Kind::Ptrace(why) if why.raw_os_error() == Some(libc::EPERM) => {
                "a container or kernel.yama.ptrace_scope=3 may forbid ptrace, and a process that is \
                 traced already has no second tracer; as root, --via tracepoint needs none"
            }
            Kind::TooOld => "record as root with --via tracepoint, or give a log of strace",
            Kind::Filter(_) => "a filter that this process runs under may forbid filters",
            Kind::Tracepoint(why) => why.help(),
            Kind::NoListener(_) => "record by stops",
            _ => "",
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Start(why) => write!(f, "no process can be started: {}", error_text(why)),
            Kind::NotExecuted(error) => error.fmt(f),
            Kind::Filter(why) => {
                write!(f, "the filter that reports calls cannot be installed: {}", error_text(why))
            }
            Kind::Ptrace(why) => write!(f, "the command cannot be traced: {}", error_text(why)),
            Kind::TooOld => {
                f.write_str("this kernel does not tell a tracer about calls (Linux 5.3 does)")
            }
            Kind::Tracepoint(why) => why.fmt(f),
            Kind::Wait(why) => write!(f, "the command cannot be waited for: {}", error_text(why)),
            Kind::NoListener(why) => {
                f.write_str("no listener of a filter can record calls here")?;
                match why {
                    Some(why) => write!(f, ": {}", error_text(why)),
                    None => f.write_str(" (from Linux 6.6 on one can, on x86-64)"),
                }
            }
            Kind::Ended => f.write_str("the command was ended before it began"),
            Kind::NoWay => f.write_str("no way to record the command was given"),
        }
    }
}

impl std::error::Error for RecordError {}
