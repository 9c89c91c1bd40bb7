//! Processes that `SIGSYS` ended according to strace, and the syscall in which each was: its line has no result (`= ?`).

use std::collections::BTreeMap;

use super::model::{LoggedCall, kept};
use crate::recording::SyscallId;

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
