//! Reports of `SIGSYS` without the syscall, and processes that `SIGSYS` killed according to strace. strace shows their last
//! syscall on a line without a result (`= ?`).

use std::collections::BTreeMap;

use super::model::{LoggedCall, kept};
use crate::logs::markers::{Marker, Reported};
use crate::recording::SyscallId;

/// The maximum distance in lines between a report without the syscall and one with it: gdb prints the place before
/// `$_siginfo`, Android the registers before the cause, and systemd the end of a service after the audit record.
const WINDOW: u64 = 40;

/// A report that no report with the syscall explains yet.
pub(super) struct PendingSignal {
    pub(super) line: u64,
    pub(super) found: Marker,
    /// The start of the line.
    pub(super) text: String,
    /// The function of the innermost frame of the stack below it.
    pub(super) function: Option<String>,
    /// The syscall in the register of the number.
    pub(super) register: Option<SyscallId>,
}

/// A report with the syscall.
struct Record {
    line: u64,
    /// The number of the process, if it has it.
    process: Option<u32>,
    /// Unless the report does not say it.
    syscall: Option<SyscallId>,
    /// The kinds of reports that it explained, of other processes or of unknown ones.
    explained: Vec<Kind>,
}

/// Reports of one kind are about different denials. One denial may cause several kinds, for example the end of a service and a
/// dump of its memory.
type Kind = (Reported, &'static str);

fn kind(found: Marker) -> Kind {
    (found.reported, found.text)
}

impl Record {
    fn is_of_process(&self, text: &str) -> bool {
        self.process.is_some_and(|process| names_process(text, process))
    }

    /// Whether it explains a report; only one of each kind, unless the report names the process.
    fn explains(&mut self, (reported, marker): Kind, text: &str) -> bool {
        if self.is_of_process(text) {
            return true;
        }
        // The end of a process has several forms.
        let kind = (reported, if reported == Reported::End { "" } else { marker });
        if self.explained.contains(&kind) {
            return false;
        }
        self.explained.push(kind);
        true
    }
}

/// Whether a text names the process with this number: `Process 7`, `PID: 7`, `pid=7`, `nginx[7]`. Times and other numbers do not.
fn names_process(text: &str, number: u32) -> bool {
    const BEFORE: [&str; 5] = ["process", "pid", "tid", "thread", "child"];
    let number = number.to_string();
    text.match_indices(&number).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + number.len()..).unwrap_or_default();
        let word = before.trim_end_matches([' ', ':', '=', '#', '"']);
        let word = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_named = BEFORE.iter().any(|name| word.eq_ignore_ascii_case(name));
        let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric());
        is_whole && (is_named || before.ends_with('[') && after.starts_with(']'))
    })
}

/// The reports near the current line. At most [`WINDOW`] of each kind are kept.
#[derive(Default)]
pub(super) struct PendingSignals {
    pending: Vec<PendingSignal>,
    records: Vec<Record>,
}

impl PendingSignals {
    /// Adds a report, unless a report with the syscall shortly before it explains it.
    pub(super) fn add(&mut self, line: u64, found: Marker, text: &str) {
        let text = kept(text);
        if !self.is_explained(line, kind(found), &text) {
            self.pending.push(PendingSignal { line, found, text, function: None, register: None });
        }
    }

    /// Whether a stack would be that of a report.
    pub(super) fn await_stack(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The innermost frame of a stack: that of the first report near it without one. Reports of other kinds behind that one are about
    /// the same end.
    pub(super) fn innermost(&mut self, line: u64, function: &str) {
        let is_open = |signal: &PendingSignal| signal.function.is_none();
        self.tell(line, is_open, |signal| signal.function = Some(function.to_owned()));
    }

    /// The register of the number: that of the first report near it without one.
    pub(super) fn register(&mut self, line: u64, syscall: SyscallId) {
        let is_open = |signal: &PendingSignal| signal.register.is_none();
        self.tell(line, is_open, |signal| signal.register = Some(syscall));
    }

    /// Tells the first report near a line for which this is open more about it.
    fn tell(
        &mut self,
        line: u64,
        is_open: impl Fn(&PendingSignal) -> bool,
        tell: impl FnOnce(&mut PendingSignal),
    ) {
        let is_near = |signal: &PendingSignal| signal.line + WINDOW >= line;
        let first = self.pending.iter().position(|one| is_near(one) && is_open(one));
        let Some(first) = first else { return };
        let Some(signal) = self.pending.get_mut(first) else { return };
        tell(signal);
        let own = kind(signal.found);
        let mut at = 0;
        self.pending.retain(|other| {
            at += 1;
            at <= first + 1 || kind(other.found) == own
        });
    }

    /// Whether a report with one of the syscalls that it may be explains the end of a process, which no other one may be about
    /// then.
    pub(super) fn explains_end(&mut self, line: u64, may_be: impl Fn(SyscallId) -> bool) -> bool {
        self.records.retain(|record| record.line + WINDOW >= line);
        let mut records = self.records.iter_mut();
        records.any(|record| {
            record.syscall.is_none_or(&may_be) && record.explains((Reported::End, ""), "")
        })
    }

    /// Whether a record of the kernel, which names a process, is about the same syscall as a dump, and no other dump.
    pub(super) fn has_record(&mut self, line: u64, syscall: SyscallId) -> bool {
        self.records.retain(|record| record.line + WINDOW >= line);
        self.records.iter_mut().any(|record| {
            record.process.is_some()
                && record.syscall == Some(syscall)
                && record.explains((Reported::End, ""), "")
        })
    }

    fn is_explained(&mut self, line: u64, kind: Kind, text: &str) -> bool {
        self.records.retain(|record| record.line + WINDOW >= line);
        // A report of the same process first: it leaves the others for other processes.
        self.records.iter().any(|record| record.is_of_process(text))
            || self.records.iter_mut().any(|record| record.explains(kind, text))
    }

    /// A report with the syscall: those shortly before it are about the same one.
    pub(super) fn explain(&mut self, line: u64, process: Option<u32>, syscall: Option<SyscallId>) {
        self.records.retain(|record| record.line + WINDOW >= line);
        let mut record = Record { line, process, syscall, explained: Vec::new() };
        self.pending.retain(|signal| !record.explains(kind(signal.found), &signal.text));
        self.records.push(record);
    }

    /// Removes and returns the reports that no line from `line` on can explain.
    pub(super) fn unexplained(&mut self, line: u64) -> impl Iterator<Item = PendingSignal> + use<> {
        let count = self.pending.iter().take_while(|at| at.line + WINDOW < line).count();
        self.pending.drain(..count).collect::<Vec<_>>().into_iter()
    }
}

/// How many processes without a result are remembered.
const MAX_CALLS: usize = 1024;

/// Processes that ended together: if a filter kills a process, all of its threads end.
pub(super) struct Death {
    /// The line of the first end.
    pub(super) line: u64,
    /// The start of it.
    pub(super) text: String,
    /// Whether one of the syscalls counts as a denial already.
    pub(super) is_counted: bool,
    /// The syscalls without a result.
    calls: BTreeMap<SyscallId, LoggedCall>,
    /// Whether one of the processes was in none of them: another line says what was denied.
    has_other: bool,
}

/// Which syscall was denied.
pub(super) enum Denied {
    Call(LoggedCall),
    /// One of several, or none is known.
    Unknown(&'static str),
}

impl Death {
    /// Whether the denied syscall may be this one.
    pub(super) fn may_be_in(&self, syscall: SyscallId) -> bool {
        self.has_other || self.calls.contains_key(&syscall)
    }

    pub(super) fn denied(&self) -> Denied {
        let mut calls = self.calls.values();
        match (calls.next(), calls.next()) {
            (Some(only), None) => {
                Denied::Call(LoggedCall { args: only.args, ..LoggedCall::denied(only.syscall) })
            }
            (Some(_), Some(_)) => Denied::Unknown(
                "strace shows that SIGSYS ended threads in different syscalls, but not which of them was denied",
            ),
            (None, _) => Denied::Unknown(
                "strace shows that SIGSYS ended the process, but not for which syscall",
            ),
        }
    }
}

/// The last syscalls of processes, and the ends that follow each other now.
#[derive(Default)]
pub(super) struct Deaths {
    /// By process; whether it counts as a denial already.
    calls: BTreeMap<Option<u32>, (LoggedCall, bool)>,
    death: Option<Death>,
}

impl Deaths {
    /// A syscall of a process without a result; whether it counts as a denial already.
    pub(super) fn without_result(
        &mut self,
        process: Option<u32>,
        call: LoggedCall,
        is_counted: bool,
    ) {
        if self.calls.len() < MAX_CALLS || self.calls.contains_key(&process) {
            self.calls.insert(process, (call, is_counted));
        }
    }

    /// A process ended by `SIGSYS`.
    pub(super) fn end(&mut self, process: Option<u32>, line: u64, text: &str) {
        let death = self.death.get_or_insert_with(|| Death {
            line,
            text: kept(text),
            is_counted: false,
            calls: BTreeMap::new(),
            has_other: false,
        });
        match self.calls.remove(&process) {
            Some((call, is_counted)) => {
                death.is_counted |= is_counted;
                death.calls.insert(call.syscall, call);
            }
            None => death.has_other = true,
        }
    }

    /// Another line about a process, which lives on or ended otherwise. Returns the ends before it.
    pub(super) fn other(&mut self, process: Option<u32>) -> Option<Death> {
        self.calls.remove(&process);
        self.settled()
    }

    /// The ends so far, when no further one follows.
    pub(super) fn settled(&mut self) -> Option<Death> {
        self.death.take()
    }
}
