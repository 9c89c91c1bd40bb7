//! Records by ptrace. Processes stop for the recorder when they start, end or receive a signal, and each syscall
//! waits for the recorder.
//!
//! The command runs under a filter of one instruction, so that each syscall is reported once, before it is executed
//! (strace without `--seccomp-bpf` also stops at its end). A notification
//! ([`SyscallReports::Notifications`], `ret USER_NOTIF`) costs less than a stop ([`SyscallReports::Stops`],
//! `ret TRACE`), unless all processors are busy (docs/recording.md).
//!
//! Another filter may deny a syscall, and the most severe verdict wins, so the recorder would not see it. As soon as
//! the command installs a filter, all processes therefore also stop at the start and the end of each syscall, and
//! syscalls are counted at their start, before any filter runs. If the recorder itself runs under a filter, as in a
//! container, the command inherits it, and this applies from the beginning.
//!
//! Job control remains with the shell (`PTRACE_LISTEN`), signals are delivered unchanged, and processes that
//! outlive the command are waited for.
//!
//! Limits: as with strace, the command cannot trace itself, and set-user-ID programs run without their privileges
//! unless the recorder is root. If `SECCOMP_FILTER_FLAG_TSYNC` gives a filter to another thread, a syscall that
//! this thread makes at the same moment may be missed if the new filter denies it. With notifications, the command
//! cannot use a listener itself, and syscalls that its own filters trace or log are executed.
//!
//! Sources: ptrace(2), seccomp_unotify(2), `kernel/ptrace.c`, `kernel/seccomp.c`,
//! `kernel/entry/syscall-common.c`.

mod affinity;
mod interrupted;
mod listener;
mod session;
mod sigchld_waker;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use libc::c_int;

use self::affinity::TracerAffinity;
use self::listener::Listener;
use self::session::{Session, Tracee, gone_or};
use self::sigchld_waker::{SigchldWaker, Wakeup};
use super::save::Parts;
use super::signals::Signals;
use super::start::{Mark, PATIENCE, Started, Stopped, time_of_a_call};
use super::tracer;
use super::wait_timer::WaitTimer;
use crate::error::RecordErrorKind;
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::{Note, RecordError};
use callgate_linux::Command;
use callgate_linux::{SeccompMode, ThreadStatus};

/// How the recorder learns of syscalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallReports {
    /// Syscalls wait for the listener of a filter (`ret USER_NOTIF`).
    Notifications,
    /// Syscalls stop for the tracer (`ret TRACE`).
    Stops,
}

/// Records a command; returns when all of its processes have ended.
pub(super) fn record(
    command: &Command,
    calls: SyscallReports,
    parts: Parts<'_>,
) -> Result<Outcome, RecordError> {
    let mark = match calls {
        SyscallReports::Notifications if !Listener::available() => {
            return Err(RecordErrorKind::NoListener(None).into());
        }
        SyscallReports::Notifications => Mark::Listener,
        SyscallReports::Stops => Mark::Stops,
    };
    let started = Started::new(command, mark, time_of_a_call()).map_err(RecordErrorKind::Start)?;
    let signals = Signals::forward_to(started.pid);
    match trace(&started, calls) {
        Ok(listener) => record_traced(command, &started, listener, signals, parts),
        Err(why) => {
            started.kill();
            Err(why.into())
        }
    }
}

/// Traces the child and lets it run.
fn trace(started: &Started, calls: SyscallReports) -> Result<Option<Listener>, RecordErrorKind> {
    let seize = || tracer::seize(started.pid).map_err(RecordErrorKind::Ptrace);
    match calls {
        SyscallReports::Stops => {
            seize()?;
            started.release();
            Ok(None)
        }
        SyscallReports::Notifications => {
            seize()?;
            started.release();
            let fd = wait_for_listener(started)?;
            Listener::new(fd).map(Some).map_err(|why| RecordErrorKind::NoListener(Some(why)))
        }
    }
}

/// Waits until the child has installed its filter.
fn wait_for_listener(started: &Started) -> Result<OwnedFd, RecordErrorKind> {
    let start = Instant::now();
    loop {
        if let Some(fd) = started.listener() {
            return Ok(fd);
        }
        if started.has_ended() {
            return Err(match started.stopped() {
                Some(Stopped::NoFilter(why)) => RecordErrorKind::NoListener(Some(why)),
                _ => RecordErrorKind::Ended,
            });
        }
        if let Some(signal) = tracer::signal_of_stop(started.pid) {
            gone_or(tracer::resume(started.pid, false, signal)).map_err(|why| why.kind)?;
        }
        if start.elapsed() > PATIENCE {
            return Err(RecordErrorKind::NoListener(None));
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

fn record_traced(
    command: &Command,
    started: &Started,
    listener: Option<Listener>,
    signals: Signals,
    mut parts: Parts<'_>,
) -> Result<Outcome, RecordError> {
    let start = Instant::now();
    let mut session = Session {
        listener,
        main: started.pid,
        tracees: HashMap::from([(started.pid, Tracee::default())]),
        early: HashSet::new(),
        others: HashSet::new(),
        // Without /proc this is unknown; assume a filter, so that no syscall is missed.
        stops_at_syscalls: ThreadStatus::of_this_thread()
            .is_none_or(|own| own.mode != SeccompMode::Off),
        running: false,
        status: None,
        tally: Tally::default(),
        processes: 1,
        threads: 1,
        untraced: 0,
        notes: Vec::new(),
    };
    if let Err(why) = session.run(&signals, &mut parts) {
        if !session.running {
            // A child that was reaped already must not be killed: its process ID may be in use again.
            if session.status.is_none() {
                started.kill();
            }
            return Err(why);
        }
        session.fail(why);
    }
    if let Some(stopped) = started.stopped() {
        return Err(RecordErrorKind::of(stopped, command).into());
    }
    if session.tally.called("ptrace") {
        session.notes.push(Note::TracesItself);
    }
    if session.stops_at_syscalls {
        session.notes.push(Note::Denied(None));
    }
    if session.untraced > 0 && session.listener.is_none() {
        session.notes.push(Note::Untraced(session.untraced));
    }
    Ok(Outcome {
        tally: session.tally,
        status: session.status,
        processes: session.processes,
        threads: session.threads,
        time: start.elapsed(),
        cost: started.cost(),
        notes: session.notes,
        signals,
    })
}

impl Session {
    /// Runs until all tracees have ended.
    fn run(&mut self, signals: &Signals, parts: &mut Parts<'_>) -> Result<(), RecordError> {
        match self.listener.as_ref().map(Listener::fd) {
            Some(fd) => self.by_listener(fd, signals, parts),
            None => self.by_stops(signals, parts),
        }
    }

    /// Saves the recording so far, if that is due.
    fn save(&self, parts: &mut Parts<'_>) {
        if self.running && parts.is_due() {
            parts.save(self.tally.clone(), self.processes, self.threads);
        }
    }

    fn by_stops(&mut self, signals: &Signals, parts: &mut Parts<'_>) -> Result<(), RecordError> {
        let mut affinity = TracerAffinity::new();
        let mut timer = if parts.are_wanted() { WaitTimer::start() } else { None };
        while !self.tracees.is_empty() {
            // Checked in every round, because a busy tracee never lets the wait be interrupted.
            if signals.interrupted() {
                drop(timer);
                self.end_others();
                return Ok(());
            }
            self.save(parts);
            let (pid, status) = match tracer::wait(-1) {
                Ok(event) => event,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) if why.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                Err(why) => return Err(RecordErrorKind::Ptrace(why).into()),
            };
            if libc::WIFSTOPPED(status) {
                affinity.stopped(pid);
            }
            self.changed(pid, status, signals)?;
            if self.status.is_some() {
                timer = timer.or_else(WaitTimer::start);
            }
        }
        Ok(())
    }

    fn by_listener(
        &mut self,
        fd: c_int,
        signals: &Signals,
        parts: &mut Parts<'_>,
    ) -> Result<(), RecordError> {
        let waker = SigchldWaker::new().map_err(RecordErrorKind::Ptrace)?;
        if self.stops_at_syscalls {
            gone_or(tracer::interrupt(self.main))?;
        }
        let mut open = Some(fd);
        // Threads that are not traced yet may make a syscall after all tracees have ended.
        while !self.tracees.is_empty() || self.untraced > 0 && open.is_some() {
            if signals.interrupted() {
                self.end_others();
                return Ok(());
            }
            self.save(parts);
            match waker.wait(open).map_err(RecordErrorKind::Ptrace)? {
                Wakeup::Sigchld | Wakeup::Timeout => loop {
                    match tracer::next() {
                        Ok(Some((pid, status))) => self.changed(pid, status, signals)?,
                        Ok(None) => break,
                        Err(why) if why.raw_os_error() == Some(libc::ECHILD) => {
                            self.tracees.clear();
                            break;
                        }
                        Err(why) => return Err(RecordErrorKind::Ptrace(why).into()),
                    }
                },
                Wakeup::Readable => self.receive()?,
                Wakeup::Closed => open = None,
            }
        }
        Ok(())
    }
}
