//! Records a command by the first method that works, or processes that run already.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use callgate_linux::Command;

use crate::bpf::{self, Attached};
use crate::error::{RecordError, RecordErrorKind};
use crate::note::{Note, RecordMethod};
use crate::ptrace::{self, CaughtFilter, Installed};
use crate::running::AttachTarget;
use crate::save::{Nowhere, Outcome, Parts, Recorded, RunDescription, Save, exit_status};
use crate::signals::{Signals, one_at_a_time, wait_for_wake};
use crate::start::Mark;

/// Records a command by the first of these methods that works.
///
/// `words` is the command that the recording shows: arguments may be passwords, so give only its name unless they are
/// wanted. Returns when the command and everything that it
/// started has ended, or when a signal arrives after the command has ended. Meanwhile, signals from the terminal
/// reach the command, and signals that are sent to this process are forwarded to it. So a process records one
/// command at a time; other threads that call this function wait.
///
/// The methods that use ptrace wait for all children of the calling thread: the status of an unrelated child that
/// ends meanwhile is lost. Start such children, and wait for them, in another thread. Each ptrace stop sends
/// SIGCHLD to this process, so syscalls of its other threads may fail with EINTR.
///
/// # Errors
/// If the command cannot be executed, or if no method works; then the command was not started. If several methods
/// fail, the error is that of the last one.
pub fn record(
    command: &Command,
    words: Vec<String>,
    methods: &[RecordMethod],
) -> Result<Recorded, RecordError> {
    record_to(command, words, methods, &mut Nowhere)
}

/// Like [`record`], and saves the recording before a signal can end this process: the recording may have taken
/// hours, and tools such as `timeout(1)` send more than one signal. Parts are also saved meanwhile.
///
/// # Errors
/// Those of [`record`]. The whole recording was not saved then, but parts may have been.
pub fn record_to(
    command: &Command,
    words: Vec<String>,
    methods: &[RecordMethod],
    save: &mut dyn Save,
) -> Result<Recorded, RecordError> {
    let _turn = one_at_a_time();
    let mut why_not_tracepoint = None;
    let mut result = Err(RecordErrorKind::NoMethod.into());
    let splits = save.wants_executables();
    let mut description =
        RunDescription { method: RecordMethod::Stops, command: words, attached: None };
    for method in methods {
        description.method = *method;
        let parts = Parts::new(&mut *save, description.clone());
        result = match method {
            RecordMethod::Tracepoint => bpf::Recorder::new(splits)
                .map_err(|why| RecordErrorKind::Tracepoint(why).into())
                .and_then(|recorder| recorder.record(command, parts)),
            RecordMethod::Listener => ptrace::record(command, Mark::Listener, splits, parts),
            RecordMethod::Stops => ptrace::record(command, Mark::Stops, splits, parts),
        };
        match &result {
            Err(RecordError { kind: RecordErrorKind::Tracepoint(why) }) => {
                why_not_tracepoint = Some(why.to_string());
            }
            Err(RecordError { kind: RecordErrorKind::NoListener(_) }) => {}
            _ => break,
        }
    }
    let mut outcome = result?;
    if outcome.status.is_none() {
        outcome.notes.push(Note::UnknownStatus);
    }
    Ok(Recorded { why_not_tracepoint, ..finish(outcome, &description, save) })
}

/// What a command and its children installed.
#[derive(Clone, Debug)]
pub struct Caught {
    /// The filters, in the order of their installation.
    pub filters: Vec<CaughtFilter>,
    /// How many more there were than [`MAX_CAUGHT`](crate::MAX_CAUGHT).
    pub more: usize,
    /// How many could not be read: the memory of the process did not have them, or Callgate does not accept them.
    pub unread: usize,
    /// Whether a process asked for the strict mode (`SECCOMP_SET_MODE_STRICT`). It did not get it, because it has a filter here.
    pub asks_for_strict: bool,
    /// How the command ended, as reported by `waitpid(2)`.
    pub status: i32,
    /// Whether the processes were ended because the time was over.
    pub was_ended: bool,
    /// Remarks on the run.
    pub notes: Vec<Note>,
}

/// Runs a command, and keeps the filters that it and its children install, by ptrace and without privileges. Returns when all of
/// its processes have ended; they are killed when the time is over. The rest is as for [`record`].
///
/// The command runs under a filter of its own, which `/proc/PID/status` and `prctl(PR_GET_SECCOMP)` show. What a process
/// installs although another filter answers its call (USER_NOTIF) is not seen. A process that is started with
/// `CLONE_UNTRACED` has no tracer, so that its `seccomp`, `prctl` and `execve` fail with ENOSYS.
///
/// # Errors
/// If the command cannot be executed or traced.
pub fn catch(command: &Command, limit: Option<Duration>) -> Result<Caught, RecordError> {
    let _turn = one_at_a_time();
    let description =
        RunDescription { method: RecordMethod::Stops, command: Vec::new(), attached: None };
    let mut nowhere = Nowhere;
    let (outcome, installed) =
        ptrace::catch(command, limit, Parts::new(&mut nowhere, description))?;
    let Outcome { status, notes, .. } = outcome;
    let Installed { filters, more, unread, asks_for_strict, was_ended, .. } = installed;
    Ok(Caught {
        filters,
        more,
        unread,
        asks_for_strict,
        status: status.unwrap_or(0),
        was_ended,
        notes,
    })
}

/// Records running processes and everything that they start, by the tracepoint method, for this long or until a signal
/// arrives or the last of them has ended. The processes are not stopped and do not notice it.
///
/// The recording lacks the syscalls before and after, which a caveat says; it has those in which threads waited when
/// it started. Of a cgroup, processes that enter from outside are recorded from their `execve` on, such as
/// those of `docker exec`. A process that leaves the cgroup is still recorded.
///
/// # Errors
/// If the target has no processes or another PID namespace, or if the method does not work here.
pub fn attach_to(
    target: &AttachTarget,
    limit: Option<Duration>,
    save: &mut dyn Save,
) -> Result<Recorded, RecordError> {
    /// How often the recorder looks whether the last thread has ended.
    const PAUSE: Duration = Duration::from_millis(50);
    let _turn = one_at_a_time();
    let signals = Signals::end_recording();
    let (mut outcome, description) = attach(target, limit, PAUSE, save, &signals)?;
    outcome.signals = Some(signals);
    Ok(finish(outcome, &description, save))
}

/// Records several targets at the same time, each as [`attach_to`] does, in threads of the caller. One set of eBPF
/// programs serves them all. A signal that would end this process ends all recordings instead; until this is dropped,
/// no further signal has an effect.
pub struct Recorders {
    signals: Signals,
    _turn: MutexGuard<'static, ()>,
}

impl Recorders {
    /// Prepares to record; this process makes no other recordings meanwhile.
    ///
    /// # Errors
    /// If running processes cannot be recorded here.
    pub fn new() -> Result<Recorders, RecordError> {
        let turn = one_at_a_time();
        Attached::recorder(false)?;
        Ok(Recorders { signals: Signals::end_recordings(), _turn: turn })
    }

    /// Records a target until the time is over, a signal arrives, or its last process has ended, which is noticed within
    /// a second.
    ///
    /// # Errors
    /// Those of [`attach_to`].
    pub fn attach_to(
        &self,
        target: &AttachTarget,
        limit: Option<Duration>,
        save: &mut dyn Save,
    ) -> Result<Recorded, RecordError> {
        /// A look reads the map of all recorded threads, so its cost grows with their number, for each of the recorders.
        const PAUSE: Duration = Duration::from_secs(1);
        let (outcome, description) = attach(target, limit, PAUSE, save, &self.signals)?;
        Ok(finish(outcome, &description, save))
    }

    /// Whether a signal has ended the recordings.
    pub fn are_ended(&self) -> bool {
        self.signals.interrupted()
    }

    /// Waits for this long, or for a signal. May return earlier.
    pub fn wait(&self, time: Duration) {
        wait_for_wake(time);
    }
}

/// Attaches and records.
fn attach(
    target: &AttachTarget,
    limit: Option<Duration>,
    pause: Duration,
    save: &mut dyn Save,
    signals: &Signals,
) -> Result<(Outcome, RunDescription), RecordError> {
    let command = target.command(save.keeps_arguments());
    let attached = Attached::new(target, save.wants_executables())?;
    let method = RecordMethod::Tracepoint;
    let attached_to = (!target.is_starting()).then(|| (target.to_string(), Instant::now()));
    let description = RunDescription { method, command, attached: attached_to };
    let parts = Parts::new(save, description.clone());
    Ok((attached.record(limit, pause, parts, signals), description))
}

/// Saves the whole recording.
fn finish(outcome: Outcome, description: &RunDescription, save: &mut dyn Save) -> Recorded {
    let Outcome { tallies, status, time, cost, notes, signals } = outcome;
    let caveats: Vec<_> = notes.iter().map(Note::caveat).collect();
    let (recording, executables) =
        description.recordings(tallies, status.map(exit_status), &caveats);
    if let Some(signals) = &signals {
        signals.wait_for_saving();
    }
    save.whole(&recording, &executables);
    drop(signals);
    Recorded {
        recording,
        executables,
        method: description.method,
        why_not_tracepoint: None,
        status: status.unwrap_or(0),
        time,
        cost_per_syscall: cost,
        notes,
    }
}
