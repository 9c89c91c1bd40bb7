//! Recording by ptrace: every call stops for the recorder, once.
//!
//! The command runs under a filter of one instruction, `ret TRACE`, so each call is reported before it
//! is made, and only then (strace without `--seccomp-bpf` stops at its end too). The kernel tells
//! architecture, number and arguments in one answer.
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
//! filter denies it.
//!
//! Sources: ptrace(2), `kernel/ptrace.c`, `kernel/seccomp.c`, `kernel/entry/syscall-common.c`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use callgate::Arch;
use callgate::recording::CallId;
use libc::{c_int, pid_t};

use super::follow::Follow;
use super::signals::Signals;
use super::start::{Mark, Started, time_of_a_call};
use super::tick::Tick;
use super::tracer::{self, CallInfo};
use super::{Kind, Note, Outcome, RecordError, Tally};
use crate::command::Command;
use crate::raw::error_text;
use crate::status::{Mode, Status};

/// Records a command; returns when everything that it started has ended.
pub(super) fn record(command: &Command) -> Result<Outcome, RecordError> {
    let started = Started::new(command, Mark::Filter, time_of_a_call()).map_err(Kind::Start)?;
    if let Err(why) = tracer::seize(started.pid) {
        started.kill();
        return Err(Kind::Ptrace(why).into());
    }
    let signals = Signals::are_for(started.pid);
    let start = Instant::now();
    started.go_on();
    let mut session = Session {
        main: started.pid,
        tracees: HashMap::from([(started.pid, Tracee::default())]),
        early: HashSet::new(),
        // Without /proc it is not known, and then nothing may be missed.
        every: Status::of_this_thread().is_none_or(|own| own.mode != Mode::Off),
        running: false,
        status: None,
        tally: Tally::default(),
        processes: 1,
        threads: 1,
        untraced: 0,
        notes: Vec::new(),
    };
    if let Err(why) = session.run(&signals) {
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
    if session.untraced > 0 {
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
    })
}

#[derive(Default)]
struct Tracee {
    /// It was told to stop at the start and end of calls too.
    every: bool,
}

struct Session {
    main: pid_t,
    tracees: HashMap<pid_t, Tracee>,
    /// Those that stopped before the one that started them told of them; it may be ended before it does.
    early: HashSet<pid_t>,
    /// Some process has a filter beside ours.
    every: bool,
    /// The command was executed: calls count.
    running: bool,
    /// How the command ended.
    status: Option<c_int>,
    tally: Tally,
    processes: u64,
    threads: u64,
    /// How many processes and threads nobody traces.
    untraced: u64,
    notes: Vec<Note>,
}

impl Session {
    fn run(&mut self, signals: &Signals) -> Result<(), RecordError> {
        let mut follow = Follow::new();
        let mut tick = None;
        while !self.tracees.is_empty() {
            // Not only when waiting was interrupted: those that call all the time leave nothing to wait for.
            if signals.interrupted() {
                drop(tick);
                self.notes.push(Note::EndedOthers(self.tracees.len()));
                self.end_all();
                return Ok(());
            }
            let (pid, status) = match tracer::wait(-1) {
                Ok(event) => event,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) if why.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                Err(why) => return Err(Kind::Ptrace(why).into()),
            };
            if libc::WIFSTOPPED(status) {
                follow.stopped(pid);
                self.stopped(pid, status)?;
                continue;
            }
            self.tracees.remove(&pid);
            if pid == self.main {
                self.status = Some(status);
                signals.command_ended();
                tick = tick.or_else(Tick::start);
            }
        }
        Ok(())
    }

    /// Ends everything after an error, and keeps what was recorded.
    fn fail(&mut self, why: RecordError) {
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
                    self.call(pid)?;
                }
                self.resume(pid, 0)
            }
            0 if signal == libc::SIGTRAP | 0x80 => {
                self.call(pid)?;
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
            _ => self.resume(pid, signal),
        }
    }

    /// There is a new tracee, which stops before it does anything.
    fn appeared(&mut self, pid: pid_t) {
        self.tracees.insert(pid, Tracee::default());
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

    /// The call at whose start a tracee stopped.
    fn call(&mut self, pid: pid_t) -> Result<(), RecordError> {
        let info = match tracer::call_info(pid) {
            Ok(Some(info)) => info,
            Ok(None) => return Ok(()),
            // It was killed in the stop, so the call is never made.
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::EIO) => return Err(Kind::TooOld.into()),
            Err(why) => return Err(Kind::Ptrace(why).into()),
        };
        let Some(call) = CallId::of(info.arch, info.nr as u32) else {
            self.tally.lost += u64::from(self.running);
            return Ok(());
        };
        let name = call.name();
        self.running |= name == Some("execve");
        if !self.running {
            return Ok(());
        }
        self.tally.count(call, &info.args);
        match name {
            Some("seccomp" | "prctl") => self.filter(pid, name, &info),
            Some("clone" | "clone3") => {
                let flags = clone_flags(pid, call.arch, name, &info);
                self.untraced += u64::from(flags & libc::CLONE_UNTRACED as u64 != 0);
            }
            _ => {}
        }
        Ok(())
    }

    /// Notices a filter that the command installs.
    fn filter(&mut self, pid: pid_t, name: Option<&str>, info: &CallInfo) {
        const TSYNC: u64 = libc::SECCOMP_FILTER_FLAG_TSYNC;
        let (first, second) = (info.args[0] as u32, info.args[1]);
        let installs = match name {
            Some("seccomp") => first <= libc::SECCOMP_SET_MODE_FILTER,
            _ => first == libc::PR_SET_SECCOMP as u32,
        };
        if !installs {
            return;
        }
        self.every = true;
        if name == Some("seccomp") && second & TSYNC != 0 {
            for other in self.tracees.keys().filter(|other| **other != pid) {
                // One that has ended in the meantime needs no filter.
                let _ = tracer::interrupt(*other);
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
        let note = Note::WithoutPrivileges(path);
        if has_not && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The flags of the process or thread that is about to be made.
fn clone_flags(pid: pid_t, arch: Arch, name: Option<&str>, info: &CallInfo) -> u64 {
    match name {
        // They are the first member of `struct clone_args`.
        Some("clone3") => tracer::memory(pid, info.args[0]).unwrap_or(0),
        // `CONFIG_CLONE_BACKWARDS2`: the stack comes first.
        _ if arch == Arch::S390x => info.args[1],
        _ => info.args[0],
    }
}

/// A tracee may be killed at any time; its end is reported by itself.
fn gone_or(result: io::Result<()>) -> Result<(), RecordError> {
    match result {
        Err(why) if why.raw_os_error() != Some(libc::ESRCH) => Err(Kind::Ptrace(why).into()),
        _ => Ok(()),
    }
}
