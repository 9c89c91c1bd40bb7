//! Recording by ptrace: what starts, ends or gets a signal stops for the recorder, and each call waits for it.
//!
//! The command runs under a filter of one instruction, so each call is reported before it is made, and only
//! then (strace without `--seccomp-bpf` stops at its end too). With a listener ([`Calls::Wait`], `ret
//! USER_NOTIF`) that costs less than a stop ([`Calls::Stop`], `ret TRACE`), unless all processors
//! are busy (docs/recording.md).
//!
//! Another filter may deny a call before ours is asked: the most severe verdict wins. So as soon as the
//! command installs one, all processes stop at the start and the end of each call as well, and calls are
//! counted where they start, which is before all filters. Where the recorder has a filter itself, as in a
//! container, the command inherits it, and it is so from the beginning.
//!
//! Stops by job control are left to the shell (`PTRACE_LISTEN`), signals are delivered as they are,
//! and processes that the command leaves behind are waited for.
//!
//! Limits: as with strace, the command cannot trace itself, and set-user-ID programs run without their
//! privileges unless the recorder is root. When another thread is given a filter by
//! `SECCOMP_FILTER_FLAG_TSYNC`, a call that it makes in the very same moment may be missed if the new
//! filter denies it. With a listener, the command can have none itself, and what its own filters would trace
//! or log goes on.
//!
//! Sources: ptrace(2), seccomp_unotify(2), `kernel/ptrace.c`, `kernel/seccomp.c`,
//! `kernel/entry/syscall-common.c`.

mod bell;
mod follow;
mod interrupted;
mod listener;
mod session;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use libc::c_int;

use self::bell::{Bell, Heard};
use self::follow::Follow;
use self::listener::Listener;
use self::session::{Session, Tracee, gone_or};
use super::save::Parts;
use super::signals::Signals;
use super::start::{Mark, PATIENCE, Started, Stopped, time_of_a_call};
use super::tick::Tick;
use super::{Kind, Note, Outcome, RecordError, Tally, tracer};
use callgate_linux::Command;
use callgate_linux::{SeccompMode, ThreadStatus};

pub(super) use self::bell::ring;

/// How the recorder is told of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// They wait for a listener.
    Wait,
    /// They stop for the tracer.
    Stop,
}

/// Records a command; returns when everything that it started has ended.
pub(super) fn record(
    command: &Command,
    calls: Calls,
    parts: Parts<'_>,
) -> Result<Outcome, RecordError> {
    let mark = match calls {
        Calls::Wait if !Listener::available() => return Err(Kind::NoListener(None).into()),
        Calls::Wait => Mark::Listener,
        Calls::Stop => Mark::Stops,
    };
    let started = Started::new(command, mark, time_of_a_call()).map_err(Kind::Start)?;
    let signals = Signals::are_for(started.pid);
    match trace(&started, calls) {
        Ok(listener) => record_traced(command, &started, listener, signals, parts),
        Err(why) => {
            started.kill();
            Err(why.into())
        }
    }
}

/// From now on the child is traced, and on its way.
fn trace(started: &Started, calls: Calls) -> Result<Option<Listener>, Kind> {
    let seize = || tracer::seize(started.pid).map_err(Kind::Ptrace);
    match calls {
        Calls::Stop => {
            seize()?;
            started.go_on();
            Ok(None)
        }
        Calls::Wait => {
            seize()?;
            started.go_on();
            let fd = wait_for_listener(started)?;
            Listener::new(fd).map(Some).map_err(|why| Kind::NoListener(Some(why)))
        }
    }
}

/// Waits until the child has its filter.
fn wait_for_listener(started: &Started) -> Result<OwnedFd, Kind> {
    let start = Instant::now();
    loop {
        if let Some(fd) = started.listener() {
            return Ok(fd);
        }
        if started.has_ended() {
            return Err(match started.stopped() {
                Some(Stopped::NoFilter(why)) => Kind::NoListener(Some(why)),
                _ => Kind::Ended,
            });
        }
        if let Some(signal) = tracer::signal_of_stop(started.pid) {
            gone_or(tracer::resume(started.pid, false, signal)).map_err(|why| why.kind)?;
        }
        if start.elapsed() > PATIENCE {
            return Err(Kind::NoListener(None));
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
        // Without /proc it is not known, and then nothing may be missed.
        every: ThreadStatus::of_this_thread().is_none_or(|own| own.mode != SeccompMode::Off),
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
            started.kill();
            return Err(why);
        }
        session.fail(why);
    }
    if let Some(stopped) = started.stopped() {
        return Err(Kind::of(stopped, command).into());
    }
    if session.tally.called("ptrace") {
        session.notes.push(Note::TracesItself);
    }
    if session.every {
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
    /// Until all has ended.
    fn run(&mut self, signals: &Signals, parts: &mut Parts<'_>) -> Result<(), RecordError> {
        match self.listener.as_ref().map(Listener::fd) {
            Some(fd) => self.by_listener(fd, signals, parts),
            None => self.by_stops(signals, parts),
        }
    }

    /// Saves what was recorded so far, if it is time to.
    fn save(&self, parts: &mut Parts<'_>) {
        if self.running && parts.is_due() {
            parts.save(self.tally.clone(), self.processes, self.threads);
        }
    }

    fn by_stops(&mut self, signals: &Signals, parts: &mut Parts<'_>) -> Result<(), RecordError> {
        let mut follow = Follow::new();
        let mut tick = if parts.are_wanted() { Tick::start() } else { None };
        while !self.tracees.is_empty() {
            // Not only when waiting was interrupted: those that call all the time leave nothing to wait for.
            if signals.interrupted() {
                drop(tick);
                self.end_others();
                return Ok(());
            }
            self.save(parts);
            let (pid, status) = match tracer::wait(-1) {
                Ok(event) => event,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) if why.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                Err(why) => return Err(Kind::Ptrace(why).into()),
            };
            if libc::WIFSTOPPED(status) {
                follow.stopped(pid);
            }
            self.changed(pid, status, signals)?;
            if self.status.is_some() {
                tick = tick.or_else(Tick::start);
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
        let bell = Bell::hang().map_err(Kind::Ptrace)?;
        if self.every {
            gone_or(tracer::interrupt(self.main))?;
        }
        let mut open = Some(fd);
        // Who is not traced at first may call when all tracees have ended.
        while !self.tracees.is_empty() || self.untraced > 0 && open.is_some() {
            if signals.interrupted() {
                self.end_others();
                return Ok(());
            }
            self.save(parts);
            match bell.wait(open).map_err(Kind::Ptrace)? {
                Heard::Bell | Heard::Nothing => loop {
                    match tracer::next() {
                        Ok(Some((pid, status))) => self.changed(pid, status, signals)?,
                        Ok(None) => break,
                        Err(why) if why.raw_os_error() == Some(libc::ECHILD) => {
                            self.tracees.clear();
                            break;
                        }
                        Err(why) => return Err(Kind::Ptrace(why).into()),
                    }
                },
                Heard::Other => self.receive()?,
                Heard::Closed => open = None,
            }
        }
        Ok(())
    }
}
