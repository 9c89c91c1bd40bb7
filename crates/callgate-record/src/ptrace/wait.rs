//! Waits for what tracees do, until all have ended.

use std::io;

use libc::c_int;

use super::affinity::TracerAffinity;
use super::listener::Listener;
use super::session::{Session, gone_or};
use super::sigchld_waker::{SigchldWaker, Wakeup};
use crate::error::RecordErrorKind;
use crate::save::Parts;
use crate::signals::Signals;
use crate::wait_timer::WaitTimer;
use crate::{RecordError, tracer};

impl Session {
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
            parts.save(self.tallies.clone(), self.processes, self.threads);
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
