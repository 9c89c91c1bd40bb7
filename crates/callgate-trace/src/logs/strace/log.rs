//! Counts the syscalls of a strace log, line by line.

use super::super::lines::{Block, Line, rejected_lines, too_many_rejected};
use super::super::syscalls::BoundedSyscalls;
use super::args::ParsedArgs;
use super::line::{Event, ParsedLine, attached, before_unfinished};
use super::names::{ReportedNames, ResolvedName, ResolvedNames};
use super::processes::Processes;
use super::unfinished::{
    MAX_COMPARED, MAX_UNFINISHED, TooManyCompared, TooManyUnfinished, UnfinishedSyscall,
    UnfinishedSyscalls,
};
use crate::names::{not_on_arch, unknown_name};
use crate::recording::{Recording, RecordingMethod, Run, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Position, Severity};
use callgate_bpf::syscalls::{self, Args};
use callgate_core::Arch;
use callgate_formats::diagnostics::messages::Messages;
use memchr::memchr;
use memchr::memmem::Finder;

/// Whether a line proves that a text is a strace log: a syscall with its result, or the first half of one.
fn is_call(event: &Event, line: &str) -> bool {
    match event {
        Event::Syscall(text, _) => {
            let rest = text.args(line);
            rest.contains(") = ") || rest.contains(")  ") || before_unfinished(rest).is_some()
        }
        _ => false,
    }
}

/// Whether a line is the sum below a table of counts.
fn is_end_of_table(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with("total") && line.split_whitespace().next_back() == Some("total")
}

/// Reads a strace log line by line.
pub(crate) struct StraceLog {
    processes: Processes,
    unfinished: UnfinishedSyscalls,
    /// Whether a notice interrupted the last syscall: the next line may be the rest of it.
    is_interrupted: bool,
    /// The first syscall that may have been made through `socketcall` or `ipc`, and through which.
    multiplexed: Option<(Position, String, &'static str)>,
    reported_names: ReportedNames,
    syscalls: BoundedSyscalls,
    names: ResolvedNames,
    /// The start of a notice on a terminal.
    notice: Finder<'static>,
    may_have_notices: bool,
    unknown: Severity,
    messages: Messages,
    is_detected: bool,
    /// Whether the lines belong to a table.
    in_table: bool,
    /// The position of the first skipped line, and the number of skipped lines.
    skipped: Option<(Position, u64)>,
}

impl StraceLog {
    /// A reader for a log whose process starts on `arch`; `unknown` is the severity of unknown names.
    pub(crate) fn new(arch: Arch, unknown: Severity) -> StraceLog {
        StraceLog {
            processes: Processes::new(arch),
            unfinished: UnfinishedSyscalls::default(),
            is_interrupted: false,
            multiplexed: None,
            reported_names: ReportedNames::default(),
            syscalls: BoundedSyscalls::of(Run {
                method: RecordingMethod::Strace,
                ..Run::default()
            }),
            names: ResolvedNames::default(),
            notice: Finder::new("strace: Process "),
            may_have_notices: false,
            unknown,
            messages: Messages::new(),
            is_detected: false,
            in_table: false,
            skipped: None,
        }
    }

    /// Whether a line was a syscall with its result, or the first half of one. A table of counts may follow
    /// (`-C`).
    pub(crate) fn is_detected(&self) -> bool {
        self.is_detected
    }

    /// Whether further lines that are not syscalls need no message of their own.
    pub(crate) fn has_skipped(&self) -> bool {
        self.in_table || self.skipped.is_some()
    }

    /// Counts such a line.
    pub(crate) fn skip(&mut self) {
        if let (false, Some((_, skipped))) = (self.in_table, &mut self.skipped) {
            *skipped += 1;
        }
    }

    /// Announces the block that contains the next lines.
    pub(crate) fn begin(&mut self, block: Block<'_>) {
        self.may_have_notices = self.notice.find(block.text.as_bytes()).is_some();
    }

    /// Reads the next line.
    pub(crate) fn line(&mut self, line: Line<'_>, parsed: &ParsedLine) {
        // A syscall has a parenthesis.
        let may_be_call = || memchr(b'(', line.text.as_bytes()).is_some();
        if self.in_table && (self.is_detected || !may_be_call()) {
            self.in_table = !is_end_of_table(line.text);
            return;
        }
        self.is_detected = self.is_detected || is_call(&parsed.event, line.text);
        if self.in_table {
            self.in_table = !is_end_of_table(line.text);
            return;
        }
        let (process, at) = (parsed.process, || line.position(parsed.at()));
        match &parsed.event {
            Event::Syscall(text, args) => {
                let (name, rest) = (text.name(line.text), text.args(line.text));
                let is_whole = line.text.ends_with('\n') || args.is_closed;
                if is_whole || before_unfinished(rest).is_some() {
                    self.syscall(process, at, name, rest, args);
                } else {
                    let message =
                        "this line is truncated; the syscall is counted, its values are not known";
                    self.messages.warn(at(), message).help =
                        "check that the log is complete".to_owned();
                    self.syscall(process, at, name, "", &ParsedArgs::default());
                }
            }
            Event::Resumed(text) => {
                self.resumed(process, at, text.name(line.text), text.args(line.text));
            }
            Event::Rest if self.is_interrupted => {
                self.rest(line.text.get(parsed.at()..).unwrap_or_default());
            }
            Event::Changed(process, mode) => self.processes.changed(*process, *mode),
            Event::Attached(process) => self.processes.attached(*process),
            Event::Exited => self.processes.exited(process),
            Event::Superseded(by) => {
                self.unfinished.supersede(process, *by);
                if let Some(process) = process {
                    self.processes.superseded(process, *by);
                }
            }
            Event::Nothing => {}
            // The table of `strace -C` counts the same syscalls again.
            Event::Table => self.in_table = true,
            Event::Rest | Event::Other => {
                let (_, skipped) = self.skipped.get_or_insert_with(|| (at(), 0));
                *skipped += 1;
            }
        }
    }

    /// The number of lines so far that are errors or have an unknown name.
    pub(crate) fn rejected(&self) -> usize {
        rejected_lines(&self.messages)
    }

    /// Adds the error that the lines from this position on were not read, because too many were rejected.
    pub(crate) fn give_up(&mut self, position: Position) {
        self.messages.add(too_many_rejected(position));
    }

    /// The recording, and messages about the log.
    pub(crate) fn finish(mut self) -> (Recording, Messages) {
        for syscall in self.unfinished.take_all() {
            self.count_whole(&syscall);
        }
        if let Some((at, skipped)) = self.skipped {
            let message = if skipped == 1 {
                "this line is not a syscall; skipped".to_owned()
            } else {
                format!("{skipped} lines are not syscalls, this is the first; skipped")
            };
            self.messages.warn(at, message).help =
                "strace -o FILE writes the log without the output of the program".to_owned();
        }
        if let Some((at, name, through)) = self.multiplexed {
            let message = format!(
                "\"{name}\" may have been called through {through}; strace prints both the same way"
            );
            self.messages.warn(at, message).set_help(Advice::RecordMultiplexed);
        }
        (self.syscalls.finish(&mut self.messages), self.messages)
    }

    /// Reads a syscall; `rest` is the line from its arguments on.
    fn syscall(
        &mut self,
        named: Option<u32>,
        at: impl Fn() -> Position,
        name: &str,
        rest: &str,
        args: &ParsedArgs,
    ) {
        let (process, arch) = self.processes.of_line(named);
        // On a terminal, a notice may interrupt a syscall; the rest of its line follows on the next.
        let notice = if self.may_have_notices { self.notice.find(rest.as_bytes()) } else { None };
        let notice = notice.and_then(|at| rest.split_at_checked(at));
        self.is_interrupted = notice.is_some();
        if let Some(child) = notice.and_then(|(_, notice)| attached(notice)) {
            self.processes.attached(child);
        }
        let before = notice.map(|(before, _)| before);
        let Some(first_half) = before_unfinished(rest).or(before) else {
            return self.count(arch, at, name, args);
        };
        match self.unfinished.insert(process, arch, at(), name, first_half.trim_end()) {
            Ok(None) => {}
            Ok(Some(lost)) => self.count_whole(&lost),
            Err(TooManyUnfinished) => {
                let message = format!(
                    "more than {MAX_UNFINISHED} unfinished syscalls at the same time, the limit"
                );
                self.messages.error(at(), message).help =
                    "check that the log is complete, or write one log per process (strace -ff), where no syscall is \
                     unfinished"
                        .to_owned();
            }
        }
    }

    fn resumed(&mut self, named: Option<u32>, at: impl Fn() -> Position, name: &str, args: &str) {
        self.is_interrupted = false;
        let (process, arch) = self.processes.of_line(named);
        match self.unfinished.resume(process, name) {
            Ok(Some(mut syscall)) => {
                syscall.append(args);
                self.count_whole(&syscall);
            }
            // strace attached during the syscall.
            Ok(None) => self.count(arch, at, name, &ParsedArgs::default()),
            Err(TooManyCompared) => {
                let message = format!(
                    "more than {MAX_COMPARED} comparisons of resumed syscalls that name no process with unfinished \
                     ones, the limit"
                );
                self.messages.error(at(), message).help =
                    "write one log per process (strace -ff), where no syscall is unfinished"
                        .to_owned();
            }
        }
    }

    /// The rest of a syscall that a notice interrupted.
    fn rest(&mut self, rest: &str) {
        self.is_interrupted = false;
        if let Some(mut syscall) = self.unfinished.remove(self.processes.last()) {
            syscall.append(rest);
            self.count_whole(&syscall);
        }
    }

    /// Counts a syscall that was unfinished.
    fn count_whole(&mut self, syscall: &UnfinishedSyscall) {
        let args = ParsedArgs::of(syscall.args());
        self.count(syscall.arch, || syscall.at, syscall.name(), &args);
    }

    fn count(&mut self, arch: Arch, at: impl Fn() -> Position, name: &str, args: &ParsedArgs) {
        let resolved = self.names.get(arch, name).or_else(|| self.resolve(arch, &at, name));
        let Some(ResolvedName { index, facts }) = resolved else { return };
        match index.and_then(|index| self.syscalls.get_mut(index)) {
            Some(stats) => stats.observe(args.values(arch, facts)),
            None => self.syscalls.lose(at),
        }
    }

    /// Resolves a name that was not counted before; `None` if it cannot be counted, which is reported.
    fn resolve(
        &mut self,
        arch: Arch,
        at: impl Fn() -> Position,
        name: &str,
    ) -> Option<ResolvedName> {
        if let Some(digits) = name.strip_prefix("syscall_0x") {
            if let Ok(nr) = u32::from_str_radix(digits, 16) {
                let index = self.syscalls.index(SyscallId::new(arch, nr));
                return Some(ResolvedName { index, facts: Args::default() });
            }
        }
        if self.reported_names.contains(arch, name) {
            return None;
        }
        let shared = arch.multiplexed(name);
        if let Some((through, _)) = shared {
            self.multiplexed.get_or_insert_with(|| (at(), name.to_owned(), through));
        }
        let Some(nr) = arch.number(name).or_else(|| arch.number(shared?.0)) else {
            self.report_unknown(arch, at(), name);
            return None;
        };
        let index = self.syscalls.index(SyscallId::new(arch, nr));
        let facts = syscalls::facts(name).map(|facts| facts.args).unwrap_or_default();
        let resolved = ResolvedName { index, facts };
        self.names.insert(arch, name, resolved);
        Some(resolved)
    }

    /// Reports a name that is not a syscall of this architecture, once if possible.
    fn report_unknown(&mut self, arch: Arch, at: Position, name: &str) {
        self.reported_names.insert(arch, name);
        if syscalls::is_known_name(name) {
            not_on_arch(&mut self.messages, self.unknown, at, arch, name);
        } else {
            unknown_name(&mut self.messages, self.unknown, at, name);
        }
    }
}
