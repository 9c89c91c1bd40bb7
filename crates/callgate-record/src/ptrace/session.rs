//! What the tracer knows of its tracees, and what it does when they stop, end or call.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use callgate::Arch;
use callgate::recording::CallId;
use libc::{c_int, pid_t};

use super::interrupted::Waits;
use super::listener::Listener;
use crate::signals::Signals;
use crate::tracer::{self, Call};
use crate::{Kind, Note, RecordError, Tally};
use callgate_linux::error_text;

#[derive(Default)]
pub(super) struct Tracee {
    /// It was told to stop at the start and end of calls too.
    every: bool,
    waits: Waits,
}

pub(super) struct Session {
    /// `None` when calls stop.
    pub(super) listener: Option<Listener>,
    pub(super) main: pid_t,
    pub(super) tracees: HashMap<pid_t, Tracee>,
    /// Those that stopped before the one that started them told of them; it may be ended before it does.
    pub(super) early: HashSet<pid_t>,
    /// Those that cannot be traced, but whose calls the listener gets.
    pub(super) others: HashSet<pid_t>,
    /// Some process has a filter beside ours.
    pub(super) every: bool,
    /// The command was executed: calls count.
    pub(super) running: bool,
    /// How the command ended.
    pub(super) status: Option<c_int>,
    pub(super) tally: Tally,
    pub(super) processes: u64,
    pub(super) threads: u64,
    /// How many processes and threads were started that nobody traces, or not before they call.
    pub(super) untraced: u64,
    pub(super) notes: Vec<Note>,
}

impl Session {
    /// Lets the next call that waits for the listener be made.
    pub(super) fn receive(&mut self) -> Result<(), RecordError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let Some(waiting) = listener.receive().map_err(Kind::Ptrace)? else { return Ok(()) };
        let (pid, call) = (waiting.pid, waiting.call);
        let mut before = None;
        let counted = match self.tracees.get_mut(&pid) {
            Some(tracee) => {
                before = tracee.waits.made();
                let is_new = tracee.waits.receive(pid, &call, tracee.every);
                // With stops at the start of calls, this one was counted there.
                tracee.every || !is_new
            }
            None => {
                self.find(pid);
                false
            }
        };
        if let Some(before) = before {
            self.call(pid, &before);
        }
        if !counted {
            self.call(pid, &call);
        }
        if let Some(listener) = &self.listener {
            listener.go_on(&waiting);
        }
        Ok(())
    }

    /// Traces one that its parent wanted to be without a tracer (`CLONE_UNTRACED`), from its first call on.
    fn find(&mut self, pid: pid_t) {
        // If it cannot be traced, its calls are recorded all the same, as long as no filter denies them.
        if tracer::seize(pid).is_ok() {
            self.appeared(pid);
            if self.every {
                let _ = tracer::interrupt(pid);
            }
        } else if self.others.insert(pid) {
            self.starts(pid);
        }
    }

    /// A signal ended the waiting for what the command left behind.
    pub(super) fn end_others(&mut self) {
        self.notes.push(Note::EndedOthers(self.tracees.len()));
        self.end_all();
    }

    /// A tracee has stopped or ended.
    pub(super) fn changed(
        &mut self,
        pid: pid_t,
        status: c_int,
        signals: &Signals,
    ) -> Result<(), RecordError> {
        if libc::WIFSTOPPED(status) {
            return self.stopped(pid, status);
        }
        let ended = self.tracees.remove(&pid);
        if let Some(call) = ended.and_then(|mut tracee| tracee.waits.made()) {
            self.call(pid, &call);
        }
        if pid == self.main {
            self.status = Some(status);
            signals.command_ended();
        }
        Ok(())
    }

    /// Ends everything after an error, and keeps what was recorded.
    pub(super) fn fail(&mut self, why: RecordError) {
        self.notes.push(Note::Failed(match why.kind {
            Kind::Ptrace(why) => error_text(&why),
            other => RecordError::from(other).to_string(),
        }));
        self.end_all();
        self.status.get_or_insert(libc::SIGKILL);
    }

    /// Ends all tracees: without a tracer all their calls would fail. A signal ends this too.
    fn end_all(&mut self) {
        self.tracees.keys().for_each(|pid| tracer::kill(*pid));
        while !self.tracees.is_empty() {
            match tracer::wait(-1) {
                // A new one.
                Ok((pid, status)) if libc::WIFSTOPPED(status) => tracer::kill(pid),
                Ok((pid, status)) => {
                    self.tracees.remove(&pid);
                    if pid == self.main {
                        self.status = Some(status);
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn stopped(&mut self, pid: pid_t, status: c_int) -> Result<(), RecordError> {
        if !self.tracees.contains_key(&pid) {
            self.early.insert(pid);
            self.appeared(pid);
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => {
                // With stops at the start of calls, this one was counted there.
                if !self.tracees.get(&pid).is_some_and(|tracee| tracee.every) {
                    self.stopped_call(pid)?;
                }
                self.resume(pid, 0)
            }
            0 if signal == libc::SIGTRAP | 0x80 => {
                self.stopped_call(pid)?;
                self.resume(pid, 0)
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Ok(child) = tracer::event_message(pid)
                    && !self.early.remove(&child)
                {
                    self.appeared(child);
                }
                self.resume(pid, 0)
            }
            libc::PTRACE_EVENT_EXEC => {
                // A thread that is not the first takes the place of the first.
                match tracer::event_message(pid) {
                    Ok(former) if former != pid => {
                        let tracee = self.tracees.remove(&former).unwrap_or_default();
                        self.tracees.insert(pid, tracee);
                    }
                    _ => {}
                }
                self.look_at_program(pid);
                self.resume(pid, 0)
            }
            libc::PTRACE_EVENT_STOP => match signal {
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
                    gone_or(tracer::listen(pid))
                }
                _ => self.resume(pid, 0),
            },
            _ => {
                let given = match self.tracees.get_mut(&pid) {
                    Some(tracee) if self.listener.is_some() => {
                        tracee.waits.signal(pid, signal, tracee.every)
                    }
                    _ => signal,
                };
                self.resume(pid, given)
            }
        }
    }

    /// There is a new tracee, which stops before it does anything.
    fn appeared(&mut self, pid: pid_t) {
        self.tracees.insert(pid, Tracee::default());
        self.starts(pid);
    }

    fn starts(&mut self, pid: pid_t) {
        self.threads += 1;
        self.processes += u64::from(tracer::is_process(pid));
    }

    fn resume(&mut self, pid: pid_t, signal: c_int) -> Result<(), RecordError> {
        let every = self.every;
        if let Some(tracee) = self.tracees.get_mut(&pid) {
            tracee.every = every;
        }
        gone_or(tracer::resume(pid, every, signal))
    }

    /// Counts the call at whose start a tracee stopped.
    fn stopped_call(&mut self, pid: pid_t) -> Result<(), RecordError> {
        match tracer::call(pid) {
            Ok(Some(call)) => {
                if self.tracees.get_mut(&pid).is_none_or(|tracee| tracee.waits.enter(&call)) {
                    self.call(pid, &call);
                }
                Ok(())
            }
            Ok(None) => {
                if self.listener.is_some()
                    && let Some(tracee) = self.tracees.get_mut(&pid)
                {
                    tracee.waits.leave(pid);
                }
                Ok(())
            }
            // It was killed in the stop, so the call is never made.
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::EIO) => Err(Kind::TooOld.into()),
            Err(why) => Err(Kind::Ptrace(why).into()),
        }
    }

    /// Counts a call that is about to be made.
    fn call(&mut self, pid: pid_t, made: &Call) {
        let Some(call) = CallId::of(made.arch, made.nr) else {
            self.tally.lost += u64::from(self.running);
            return;
        };
        let name = call.name();
        self.running |= name == Some("execve");
        if !self.running {
            return;
        }
        self.tally.count(call, &made.args);
        match name {
            Some("seccomp" | "prctl") => self.filter(pid, name, made),
            Some("clone" | "clone3") => {
                let flags = clone_flags(pid, call.arch, name, made);
                self.untraced += u64::from(flags & libc::CLONE_UNTRACED as u64 != 0);
            }
            _ => {}
        }
    }

    /// Notices a filter that the command installs.
    fn filter(&mut self, pid: pid_t, name: Option<&str>, call: &Call) {
        const TSYNC: u64 = libc::SECCOMP_FILTER_FLAG_TSYNC;
        const LISTENS: u64 = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let (first, second) = (call.args[0] as u32, call.args[1]);
        let installs = match name {
            Some("seccomp") => first <= libc::SECCOMP_SET_MODE_FILTER,
            _ => first == libc::PR_SET_SECCOMP as u32,
        };
        if !installs {
            return;
        }
        self.every = true;
        let listens = self.listener.is_some();
        let for_all = name == Some("seccomp") && second & TSYNC != 0;
        if listens && name == Some("seccomp") && second & LISTENS != 0 {
            self.note(Note::Listens);
        }
        // What has stopped for its call is told how to go on when it does.
        for (tracee, _) in self.tracees.iter().filter(|(_, state)| !state.every) {
            let must_stop = if *tracee == pid { listens } else { for_all };
            if must_stop {
                // One that has ended in the meantime needs no filter.
                let _ = tracer::interrupt(*tracee);
            }
        }
    }

    /// Says when a program does not have the privileges that it would have had.
    fn look_at_program(&mut self, pid: pid_t) {
        use std::os::unix::fs::MetadataExt;
        const MOST: usize = 8;
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let Ok(file) = std::fs::metadata(&link) else { return };
        if file.mode() & 0o6000 == 0 || self.notes.len() >= MOST {
            return;
        }
        let Ok(process) = std::fs::metadata(format!("/proc/{pid}")) else { return };
        let has_not = file.mode() & 0o4000 != 0 && process.uid() != file.uid()
            || file.mode() & 0o2000 != 0 && process.gid() != file.gid();
        let path = std::fs::read_link(&link).unwrap_or(link);
        if has_not {
            self.note(Note::WithoutPrivileges(path));
        }
    }

    /// To be said once.
    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The flags of the process or thread that is about to be made.
fn clone_flags(pid: pid_t, arch: Arch, name: Option<&str>, call: &Call) -> u64 {
    match name {
        // They are the first member of `struct clone_args`.
        Some("clone3") => tracer::memory(pid, call.args[0]).unwrap_or(0),
        // `CONFIG_CLONE_BACKWARDS2`: the stack comes first.
        _ if arch == Arch::S390x => call.args[1],
        _ => call.args[0],
    }
}

/// A tracee may be killed at any time; its end is reported by itself.
pub(super) fn gone_or(result: io::Result<()>) -> Result<(), RecordError> {
    match result {
        Err(why) if why.raw_os_error() != Some(libc::ESRCH) => Err(Kind::Ptrace(why).into()),
        _ => Ok(()),
    }
}
