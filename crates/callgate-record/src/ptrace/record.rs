//! Starts a command, traces it, waits for what tracees do, and reports the outcome.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use callgate_linux::{Command, SeccompMode, ThreadStatus};
use libc::c_int;

use super::affinity::TracerAffinity;
use super::installed::{Installed, reporter};
use super::listener::Listener;
use super::session::{Session, Tracee, gone_or};
use super::sigchld_waker::{SigchldWaker, Wakeup};
use crate::error::RecordErrorKind;
use crate::save::{Outcome, Parts};
use crate::signals::{Signals, WaitTimer};
use crate::start::{Mark, PATIENCE, Started, Stopped, time_of_a_syscall};
use crate::tally::Tallies;
use crate::{Note, RecordError, tracer};

/// Records a command whose filter reports syscalls; returns when all of its processes have ended. `splits`: executables are
/// counted apart.
pub(crate) fn record(
    command: &Command,
    mark: Mark,
    splits: bool,
    parts: Parts<'_>,
) -> Result<Outcome, RecordError> {
    let has_listener = matches!(mark, Mark::Listener);
    if has_listener && !Listener::available() {
        return Err(RecordErrorKind::NoListener(None).into());
    }
    let started =
        Started::new(command, mark, time_of_a_syscall()).map_err(RecordErrorKind::Start)?;
    let signals = Signals::forward_to(started.pid);
    match trace(&started, has_listener) {
        Ok(listener) => record_traced(command, &started, listener, signals, splits, parts),
        Err(why) => {
            started.kill();
            Err(why.into())
        }
    }
}

/// Traces the child and lets it run.
fn trace(started: &Started, has_listener: bool) -> Result<Option<Listener>, RecordErrorKind> {
    tracer::seize(started.pid).map_err(RecordErrorKind::Ptrace)?;
    started.release();
    if !has_listener {
        return Ok(None);
    }
    let fd = wait_for_listener(started)?;
    Listener::new(fd).map(Some).map_err(|why| RecordErrorKind::NoListener(Some(why)))
}

/// Waits until the child has installed its filter.
fn wait_for_listener(started: &Started) -> Result<OwnedFd, RecordErrorKind> {
    let start = Instant::now();
    loop {
        if let Some(fd) = started.listener() {
            return Ok(fd);
        }
        if tracer::has_ended(started.pid) {
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

/// Runs a command, and keeps the filters that it and its children install, until all of its processes have ended or the time
/// is over.
pub(crate) fn catch(
    command: &Command,
    limit: Option<Duration>,
    parts: Parts<'_>,
) -> Result<(Outcome, Installed), RecordError> {
    let mark = Mark::StopsAt(reporter());
    let started =
        Started::new(command, mark, time_of_a_syscall()).map_err(RecordErrorKind::Start)?;
    let signals = Signals::forward_to(started.pid);
    if let Err(why) = trace(&started, false) {
        started.kill();
        return Err(why.into());
    }
    let start = Instant::now();
    let mut session = Session::of(&started, None, false);
    let deadline = limit.and_then(|limit| start.checked_add(limit));
    session.installed = Some(Installed::until(deadline));
    let mut session = run(session, command, &started, &signals, parts)?;
    let installed = session.installed.take().unwrap_or_default();
    Ok((session.outcome(&started, start, signals), installed))
}

fn record_traced(
    command: &Command,
    started: &Started,
    listener: Option<Listener>,
    signals: Signals,
    splits: bool,
    parts: Parts<'_>,
) -> Result<Outcome, RecordError> {
    let start = Instant::now();
    let session = Session::of(started, listener, splits);
    let mut session = run(session, command, started, &signals, parts)?;
    if session.tallies.whole.called("ptrace") {
        session.notes.push(Note::TracesItself);
    }
    if session.stops_at_syscalls {
        session.notes.push(Note::Denied(None));
    }
    if session.untraced > 0 && session.listener.is_none() {
        session.notes.push(Note::Untraced(session.untraced));
    }
    Ok(session.outcome(started, start, signals))
}

/// Runs until the command and its processes have ended.
fn run(
    mut session: Session,
    command: &Command,
    started: &Started,
    signals: &Signals,
    mut parts: Parts<'_>,
) -> Result<Session, RecordError> {
    if let Err(why) = session.run(signals, &mut parts) {
        if !session.running {
            // A child that was reaped already must not be killed: its process ID may be in use again.
            if session.status.is_none() {
                started.kill();
            }
            return Err(why);
        }
        session.fail(why);
    }
    match started.stopped() {
        Some(stopped) => Err(RecordErrorKind::of(stopped, command).into()),
        None => Ok(session),
    }
}

impl Session {
    fn of(started: &Started, listener: Option<Listener>, splits: bool) -> Session {
        Session {
            listener,
            main: started.pid,
            tracees: HashMap::from([(started.pid, Tracee::default())]),
            early: HashSet::new(),
            held: HashMap::new(),
            others: HashMap::new(),
            // Without /proc this is unknown; assume a filter, so that no syscall is missed.
            stops_at_syscalls: ThreadStatus::of_this_thread()
                .is_none_or(|own| own.mode != SeccompMode::Off),
            running: false,
            status: None,
            tallies: Tallies::new(splits),
            installed: None,
            untraced: 0,
            notes: Vec::new(),
        }
    }

    fn outcome(self, started: &Started, start: Instant, signals: Signals) -> Outcome {
        Outcome {
            tallies: self.tallies,
            status: self.status,
            time: start.elapsed(),
            cost: started.cost(),
            notes: self.notes,
            signals: Some(signals),
        }
    }

    /// Runs until all tracees have ended.
    pub(super) fn run(
        &mut self,
        signals: &Signals,
        parts: &mut Parts<'_>,
    ) -> Result<(), RecordError> {
        match self.listener.as_ref().map(Listener::fd) {
            Some(fd) => self.by_listener(fd, signals, parts),
            None => self.by_stops(signals, parts),
        }
    }

    /// Saves the recording so far, if that is due.
    fn save(&self, parts: &mut Parts<'_>) {
        if self.running && parts.is_due() {
            parts.save(self.tallies.clone());
        }
    }

    fn by_stops(&mut self, signals: &Signals, parts: &mut Parts<'_>) -> Result<(), RecordError> {
        let mut affinity = TracerAffinity::new();
        let is_timed = parts.are_wanted() || self.installed.is_some();
        let mut timer = if is_timed { WaitTimer::start() } else { None };
        while !self.tracees.is_empty() {
            // Checked in every round, because a busy tracee never lets the wait be interrupted.
            if signals.interrupted() {
                drop(timer);
                self.end_others();
                return Ok(());
            }
            if self.installed.as_mut().is_some_and(Installed::is_over) {
                drop(timer);
                self.end_all();
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
