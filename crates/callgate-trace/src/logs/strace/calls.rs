//! Complete syscalls of a log, with their results.

use std::borrow::Cow;

use super::args::split_once;
use super::line::{Event, ParsedLine, attached, before_unfinished};
use super::processes::Processes;
use super::unfinished::{UnfinishedSyscall, UnfinishedSyscalls};
use callgate_bpf::diagnostic::Position;
use callgate_core::Arch;

/// A syscall of a log.
pub(crate) struct LoggedSyscall<'t> {
    /// Its process, if the log has several.
    pub(crate) process: Option<u32>,
    /// The ABI of its process.
    pub(crate) arch: Arch,
    pub(crate) name: Cow<'t, str>,
    /// The text after the opening parenthesis.
    pub(crate) args: Cow<'t, str>,
}

/// What a line of a strace log is.
pub(crate) enum LogLine<'t> {
    /// A syscall ends in it.
    Syscall(LoggedSyscall<'t>),
    /// A part of a syscall.
    Part,
    /// A process ended; whether by `SIGSYS`.
    End { process: Option<u32>, by_sigsys: bool },
    /// A notice of strace.
    Notice,
    /// Not a line of strace, a signal, or empty.
    Other,
}

/// Joins the halves of syscalls, and follows the ABI of each process.
pub(crate) struct SyscallLog {
    processes: Processes,
    unfinished: UnfinishedSyscalls,
    /// Whether a notice interrupted the last syscall: the next line may be the rest of it.
    is_interrupted: bool,
}

impl SyscallLog {
    /// A reader for a log whose process starts on `arch`.
    pub(crate) fn new(arch: Arch) -> SyscallLog {
        SyscallLog {
            processes: Processes::new(arch),
            unfinished: UnfinishedSyscalls::default(),
            is_interrupted: false,
        }
    }

    /// Reads the next line. Beyond the limits of [`UnfinishedSyscalls`], syscalls of two lines are not returned.
    pub(crate) fn line<'t>(&mut self, line: &'t str) -> LogLine<'t> {
        let parsed = ParsedLine::of(line);
        let named = parsed.process;
        match &parsed.event {
            Event::Syscall(text, _) => {
                let (name, rest) = (text.name(line), text.args(line));
                let notice = split_once(rest, b"strace: Process ").map(|(before, _)| before);
                let half = before_unfinished(rest).or(notice);
                // Other texts have a word and a parenthesis, too.
                if half.is_none() && !(rest.contains(") = ") || rest.contains(")  ")) {
                    return LogLine::Other;
                }
                let (process, arch) = self.processes.of_line(named);
                self.is_interrupted = notice.is_some();
                if let Some(child) = notice.and_then(|before| attached(rest.get(before.len()..)?)) {
                    self.processes.attached(child);
                }
                let Some(half) = half else {
                    return LogLine::Syscall(LoggedSyscall {
                        process,
                        arch,
                        name: name.into(),
                        args: rest.into(),
                    });
                };
                let at = Position { line: 1, column: 1 };
                let _ = self.unfinished.insert(process, arch, at, name, half.trim_end());
                LogLine::Part
            }
            Event::Resumed(text) => {
                self.is_interrupted = false;
                let (process, _) = self.processes.of_line(named);
                let syscall = self.unfinished.resume(process, text.name(line)).ok().flatten();
                self.ended(syscall, text.args(line))
            }
            Event::Rest if self.is_interrupted => {
                self.is_interrupted = false;
                let syscall = self.unfinished.remove(self.processes.last());
                self.ended(syscall, line.get(parsed.at()..).unwrap_or_default())
            }
            Event::Changed(process, mode) => {
                self.processes.changed(*process, *mode);
                LogLine::Notice
            }
            Event::Attached(process) => {
                self.processes.attached(*process);
                LogLine::Notice
            }
            Event::Exited => {
                let (process, _) = self.processes.of_line(named);
                self.processes.exited(process);
                LogLine::End { process, by_sigsys: line.contains("+++ killed by SIGSYS") }
            }
            Event::Superseded(by) => {
                self.unfinished.supersede(named, *by);
                if let Some(process) = named {
                    self.processes.superseded(process, *by);
                }
                LogLine::Notice
            }
            Event::Rest | Event::Nothing | Event::Table | Event::Other => LogLine::Other,
        }
    }

    /// A syscall with its second half.
    fn ended(&mut self, syscall: Option<UnfinishedSyscall>, rest: &str) -> LogLine<'static> {
        let Some(mut syscall) = syscall else { return LogLine::Part };
        syscall.append(rest);
        LogLine::Syscall(LoggedSyscall {
            process: self.processes.last(),
            arch: syscall.arch,
            name: Cow::Owned(syscall.name().to_owned()),
            args: Cow::Owned(syscall.args().to_owned()),
        })
    }
}
