//! State of the tracer and its tracees, and reactions to their stops, ends and syscalls.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use callgate::Arch;
use callgate_trace::recording::SyscallId;
use libc::{c_int, pid_t};

use super::installed::Installed;
use super::interrupted::InterruptedSyscalls;
use super::listener::Listener;
use crate::error::RecordErrorKind;
use crate::running::{executed_path, parent_of};
use crate::signals::Signals;
use crate::tally::Tallies;
use crate::tracer::{self, Syscall};
use crate::{Note, RecordError};
use callgate_linux::{ThreadStatus, error_text};

#[derive(Default)]
pub(super) struct Tracee {
    /// It also stops at the start and the end of syscalls.
    stops_at_syscalls: bool,
    interrupted: InterruptedSyscalls,
    /// What it executes, if executables are counted apart.
    executable: Option<Rc<[u8]>>,
}

pub(super) struct Session {
    /// `None` if syscalls are reported by stops.
    pub(super) listener: Option<Listener>,
    pub(super) main: pid_t,
    pub(super) tracees: HashMap<pid_t, Tracee>,
    /// New tracees whose first stop came before the event of their parent, which may be killed before it reports
    /// that event.
    pub(super) early: HashSet<pid_t>,
    /// Tracees that stay in their first stop until it is known what their parent executes, with the status of that stop. Empty
    /// unless executables are counted apart.
    pub(super) held: HashMap<pid_t, c_int>,
    /// Threads that cannot be traced, with what they execute. The listener receives their syscalls.
    pub(super) others: HashMap<pid_t, Option<Rc<[u8]>>>,
    /// A process has another filter than the recorder's, so syscalls are counted at their start.
    pub(super) stops_at_syscalls: bool,
    /// The command was executed: syscalls count from now on.
    pub(super) running: bool,
    /// How the command ended.
    pub(super) status: Option<c_int>,
    pub(super) tallies: Tallies,
    /// The filters that were installed, if these are wanted instead of syscalls.
    pub(super) installed: Option<Installed>,
    /// How many processes and threads were started with `CLONE_UNTRACED`.
    pub(super) untraced: u64,
    pub(super) notes: Vec<Note>,
}

impl Session {
    /// Receives the next syscall that waits for the listener, and lets it continue.
    pub(super) fn receive(&mut self) -> Result<(), RecordError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let Some(waiting) = listener.receive().map_err(RecordErrorKind::Ptrace)? else {
            return Ok(());
        };
        let (pid, syscall) = (waiting.pid, waiting.syscall);
        let mut before = None;
        let counted = match self.tracees.get_mut(&pid) {
            Some(tracee) => {
                before = tracee.interrupted.made();
                let is_new = tracee.interrupted.receive(pid, &syscall, tracee.stops_at_syscalls);
                // If the tracee stops at the start of syscalls, this one was counted there.
                tracee.stops_at_syscalls || !is_new
            }
            None => {
                self.find(pid);
                false
            }
        };
        if let Some(before) = before {
            self.syscall(pid, &before);
        }
        if !counted {
            self.syscall(pid, &syscall);
        }
        if let Some(listener) = &self.listener {
            listener.continue_syscall(&waiting);
        }
        Ok(())
    }

    /// Traces a thread that was started with `CLONE_UNTRACED`, from its first syscall on.
    fn find(&mut self, pid: pid_t) {
        // If it cannot be traced, its syscalls are still recorded, unless another filter denies them.
        if tracer::seize(pid).is_ok() {
            self.appeared(pid, self.executable_of_creator(pid));
            if self.stops_at_syscalls {
                let _ = tracer::interrupt(pid);
            }
        } else if !self.others.contains_key(&pid) {
            self.others.insert(pid, self.executable_of_creator(pid));
            self.starts(pid);
        }
    }

    /// A signal ended the waiting for processes that outlived the command.
    pub(super) fn end_others(&mut self) {
        self.notes.push(Note::EndedOthers(self.tracees.len()));
        self.end_all();
    }

    /// Handles a tracee that has stopped or ended.
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
        if let Some(installed) = &mut self.installed {
            installed.leave(pid, None);
        }
        if let Some(syscall) = ended.and_then(|mut tracee| tracee.interrupted.made()) {
            self.syscall(pid, &syscall);
        }
        if pid == self.main {
            self.status = Some(status);
            signals.command_ended();
        }
        self.release_held()
    }

    /// Resumes new tracees whose parent may have been killed before it reported them.
    fn release_held(&mut self) -> Result<(), RecordError> {
        for (pid, status) in std::mem::take(&mut self.held) {
            self.release(pid, status, self.executable_of_creator(pid))?;
        }
        Ok(())
    }

    /// Resumes a new tracee from its first stop.
    fn release(
        &mut self,
        pid: pid_t,
        status: c_int,
        executable: Option<Rc<[u8]>>,
    ) -> Result<(), RecordError> {
        match self.tracees.get_mut(&pid) {
            Some(tracee) => tracee.executable = executable,
            // It was killed.
            None => return Ok(()),
        }
        self.stopped(pid, status)
    }

    /// Kills all tracees after an error, and keeps the recording so far.
    pub(super) fn fail(&mut self, why: RecordError) {
        self.notes.push(Note::Failed(match why.kind {
            RecordErrorKind::Ptrace(why) => error_text(&why),
            other => RecordError::from(other).to_string(),
        }));
        self.end_all();
        self.status.get_or_insert(libc::SIGKILL);
    }

    /// Kills all tracees: without a tracer all of their syscalls would fail. A signal ends this wait, too.
    pub(super) fn end_all(&mut self) {
        self.tracees.keys().for_each(|pid| tracer::kill(*pid));
        while !self.tracees.is_empty() {
            match tracer::wait(-1) {
                // A new tracee.
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
            self.appeared(pid, None);
            if self.tallies.executables.is_some() {
                self.held.insert(pid, status);
                return Ok(());
            }
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => {
                // If the tracee stops at the start of syscalls, this one was counted there.
                if !self.tracees.get(&pid).is_some_and(|tracee| tracee.stops_at_syscalls) {
                    self.stopped_syscall(pid)?;
                }
                self.resume(pid, 0)
            }
            0 if signal == libc::SIGTRAP | 0x80 => {
                self.stopped_syscall(pid)?;
                self.resume(pid, 0)
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Ok(child) = tracer::event_message(pid) {
                    let parent = self.tracees.get(&pid);
                    let executable = parent.and_then(|parent| parent.executable.clone());
                    if !self.early.remove(&child) {
                        self.appeared(child, executable);
                    } else if let Some(status) = self.held.remove(&child) {
                        self.release(child, status, executable)?;
                    }
                }
                self.resume(pid, 0)
            }
            libc::PTRACE_EVENT_EXEC => {
                // A thread that executes a program takes over the number of the main thread.
                match tracer::event_message(pid) {
                    Ok(former) if former != pid => {
                        let tracee = self.tracees.remove(&former).unwrap_or_default();
                        self.tracees.insert(pid, tracee);
                    }
                    _ => {}
                }
                self.executed(pid);
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
                        tracee.interrupted.signal(pid, signal, tracee.stops_at_syscalls)
                    }
                    _ => signal,
                };
                self.resume(pid, given)
            }
        }
    }

    /// Handles a new tracee, which stops before it runs and executes this.
    fn appeared(&mut self, pid: pid_t, executable: Option<Rc<[u8]>>) {
        self.tracees.insert(pid, Tracee { executable, ..Tracee::default() });
        self.starts(pid);
    }

    fn starts(&mut self, pid: pid_t) {
        self.tallies.threads += 1;
        self.tallies.processes += u64::from(tracer::is_process(pid));
    }

    fn resume(&mut self, pid: pid_t, signal: c_int) -> Result<(), RecordError> {
        let stops_at_syscalls = self.stops_at_syscalls;
        if let Some(tracee) = self.tracees.get_mut(&pid) {
            tracee.stops_at_syscalls = stops_at_syscalls;
        }
        let stops_at_end = self.installed.as_ref().is_some_and(|installed| installed.awaits(pid));
        gone_or(tracer::resume(pid, stops_at_syscalls || stops_at_end, signal))
    }

    /// Counts the syscall at whose start a tracee stopped.
    fn stopped_syscall(&mut self, pid: pid_t) -> Result<(), RecordError> {
        match tracer::syscall(pid) {
            Ok(Some(syscall)) => {
                let tracee = self.tracees.get_mut(&pid);
                if tracee.is_none_or(|tracee| tracee.interrupted.enter(&syscall)) {
                    self.syscall(pid, &syscall);
                }
                Ok(())
            }
            Ok(None) => {
                if let Some(installed) = &mut self.installed {
                    installed.leave(pid, tracer::result(pid));
                }
                if let (Some(tracee), Some(_)) = (self.tracees.get_mut(&pid), &self.listener) {
                    tracee.interrupted.leave(pid);
                }
                Ok(())
            }
            // It was killed while it was stopped, so the syscall is never executed.
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::EIO) => {
                Err(RecordErrorKind::TooOld.into())
            }
            Err(why) => Err(RecordErrorKind::Ptrace(why).into()),
        }
    }

    /// Counts a syscall that is about to be executed.
    fn syscall(&mut self, pid: pid_t, made: &Syscall) {
        let Some(syscall) = SyscallId::of(made.arch, made.nr) else {
            self.tallies.whole.lost += u64::from(self.running);
            return;
        };
        let name = syscall.name();
        self.running |= name == Some("execve");
        if !self.running {
            return;
        }
        if let Some(installed) = &mut self.installed {
            installed.enter(pid, made);
            return;
        }
        let executable = match self.tracees.get(&pid) {
            Some(tracee) => tracee.executable.clone(),
            None => self.others.get(&pid).cloned().flatten(),
        };
        self.tallies.count(executable.as_deref(), syscall, &made.args);
        match name {
            Some("seccomp" | "prctl") => self.filter(pid, name, made),
            // What it executes from now on is not known.
            Some("execve" | "execveat") => {
                if let Some(executable) = self.others.get_mut(&pid) {
                    *executable = executable.take().map(|_| Rc::from(&b""[..]));
                }
            }
            Some("clone" | "clone3") => {
                let flags = clone_flags(pid, syscall.arch, name, made);
                self.untraced += u64::from(flags & libc::CLONE_UNTRACED as u64 != 0);
            }
            _ => {}
        }
    }

    /// Reacts to a filter that the command installs.
    fn filter(&mut self, pid: pid_t, name: Option<&str>, syscall: &Syscall) {
        const TSYNC: u64 = libc::SECCOMP_FILTER_FLAG_TSYNC;
        const LISTENS: u64 = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let (first, second) = (syscall.args[0] as u32, syscall.args[1]);
        let installs = match name {
            Some("seccomp") => first <= libc::SECCOMP_SET_MODE_FILTER,
            _ => first == libc::PR_SET_SECCOMP as u32,
        };
        if !installs {
            return;
        }
        self.stops_at_syscalls = true;
        let listens = self.listener.is_some();
        let for_all = name == Some("seccomp") && second & TSYNC != 0;
        if listens && name == Some("seccomp") && second & LISTENS != 0 {
            self.note(Note::Listens);
        }
        // The others stop at the start of syscalls once they are resumed.
        for (tracee, _) in self.tracees.iter().filter(|(_, state)| !state.stops_at_syscalls) {
            let must_stop = if *tracee == pid { listens } else { for_all };
            if must_stop {
                // Fails if the tracee has ended.
                let _ = tracer::interrupt(*tracee);
            }
        }
    }

    /// Notes what a tracee has executed.
    fn executed(&mut self, pid: pid_t) {
        if self.tallies.executables.is_none() {
            return;
        }
        // Its memory is that of the new program, which does not run yet and cannot have changed it.
        let path: Rc<[u8]> = executed_path(pid as u32).unwrap_or_default().into();
        self.tallies.executed(&path, 1);
        if let Some(tracee) = self.tracees.get_mut(&pid) {
            tracee.executable = Some(path);
        }
    }

    /// What a new thread executes that no event has reported, if executables are counted apart: what its process or its
    /// parent executes, and empty if that is not known. Its own memory may have been changed.
    fn executable_of_creator(&self, pid: pid_t) -> Option<Rc<[u8]>> {
        self.tallies.executables.as_ref()?;
        let process = ThreadStatus::of(pid as u32).ok().map(|status| status.process);
        let creators = [process, parent_of(pid as u32)].into_iter().flatten();
        let mut known = creators.filter(|creator| *creator != pid as u32).filter_map(|creator| {
            self.tracees.get(&(creator as pid_t)).map(|tracee| tracee.executable.clone())
        });
        known.next().unwrap_or_else(|| Some(Rc::from(&b""[..])))
    }

    /// Notes a set-user-ID or set-group-ID program that runs without its privileges.
    fn look_at_program(&mut self, pid: pid_t) {
        use std::os::unix::fs::MetadataExt;
        /// Limits the notes.
        const MOST: usize = 8;
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let Ok(file) = std::fs::metadata(&link) else { return };
        if file.mode() & 0o6000 == 0 || self.notes.len() >= MOST {
            return;
        }
        let Ok(process) = std::fs::metadata(format!("/proc/{pid}")) else { return };
        let lacks_privileges = file.mode() & 0o4000 != 0 && process.uid() != file.uid()
            || file.mode() & 0o2000 != 0 && process.gid() != file.gid();
        let path = std::fs::read_link(&link).unwrap_or(link);
        if lacks_privileges {
            self.note(Note::WithoutPrivileges(path));
        }
    }

    /// Adds a note, unless it is there already.
    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The flags of `clone` or `clone3`.
fn clone_flags(pid: pid_t, arch: Arch, name: Option<&str>, syscall: &Syscall) -> u64 {
    match name {
        // The first member of `struct clone_args`.
        Some("clone3") => tracer::memory(pid, syscall.args[0]).unwrap_or(0),
        // `CONFIG_CLONE_BACKWARDS2`: the stack comes first.
        _ if arch == Arch::S390x => syscall.args[1],
        _ => syscall.args[0],
    }
}

/// Ignores that a tracee was killed, which can happen at any time; `waitpid` reports its end.
pub(super) fn gone_or(result: io::Result<()>) -> Result<(), RecordError> {
    match result {
        Err(why) if why.raw_os_error() != Some(libc::ESRCH) => {
            Err(RecordErrorKind::Ptrace(why).into())
        }
        _ => Ok(()),
    }
}
