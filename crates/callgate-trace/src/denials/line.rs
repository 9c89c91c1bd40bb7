//! What a line of a log is.

use std::borrow::Cow;

use callgate_core::{Arch, Verdict};

use super::error_hints::Unnamed;
use super::go_traceback::GoTraceback;
use super::jvm::JvmLog;
use super::model::LoggedCall;
use super::tally::Origin;
use super::tombstone::Tombstone;
use crate::logs::markers::Marker;
use crate::recording::SyscallId;

/// A line that may be about a denial.
#[derive(Debug)]
pub(super) enum Parsed<'t> {
    /// A denied syscall.
    Denial(Found<'t>),
    /// A syscall that was logged and executed.
    Logged(SyscallId),
    /// The start of a crash dump, below which the registers follow.
    Dump(Dump),
    /// A report whose syscall is not known, and why.
    Unread(String),
    /// An error that filters return, of a syscall that is not known, and why. It matters only if no other line tells.
    Unnamed(Unnamed),
    /// A report of `SIGSYS` without the syscall, which another line may name; whose marker says why it is not read.
    Signal(Marker),
    /// Another line.
    Nothing,
}

/// A crash dump whose registers may follow.
#[derive(Debug)]
pub(super) enum Dump {
    /// Of Android.
    Tombstone(Tombstone),
    /// Of a Go program.
    Go(GoTraceback),
    /// Of the JVM.
    Jvm(JvmLog),
}

/// A denied syscall as a line reports it.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) call: LoggedCall,
    pub(super) program: Option<Cow<'t, str>>,
    pub(super) origin: Origin,
    /// What the filter returned, if the line says it: the action without its data.
    pub(super) verdict: Option<Verdict>,
    /// Whether the line says that the process got `SIGSYS`.
    pub(super) has_signal: bool,
    /// Whether the line does not name the architecture.
    pub(super) is_arch_assumed: bool,
    /// The number of the process, if the line has it.
    pub(super) process: Option<u32>,
}

impl Dump {
    /// The number and the start of its first line.
    pub(super) fn start(&self) -> (u64, &str) {
        match self {
            Dump::Tombstone(dump) => (dump.line, &dump.text),
            Dump::Go(dump) => (dump.line, &dump.text),
            Dump::Jvm(dump) => (dump.line, &dump.text),
        }
    }

    /// Reads a line below the first one; returns whether more lines may tell.
    pub(super) fn line(&mut self, text: &str, line: u64) -> bool {
        match self {
            Dump::Tombstone(dump) => dump.line(text, line),
            Dump::Go(dump) => dump.line(text, line),
            Dump::Jvm(dump) => dump.line(text, line),
        }
    }

    /// The syscall, and whether its architecture is this one because the dump does not name it; or why it is not known.
    pub(super) fn syscall(&self, arch: Arch) -> Result<(SyscallId, bool), String> {
        match self {
            Dump::Tombstone(dump) => dump.syscall().map(|syscall| (syscall, false)),
            Dump::Go(dump) => dump.syscall(arch).ok_or_else(|| "no syscall is named".to_owned()),
            Dump::Jvm(dump) => {
                let syscall = dump.syscall().map(|syscall| (syscall, false));
                syscall.ok_or_else(|| "no syscall is named".to_owned())
            }
        }
    }
}

impl Found<'_> {
    /// A denied syscall without further facts.
    pub(super) fn of(call: LoggedCall) -> Found<'static> {
        let origin = Origin::Other;
        Found {
            call,
            program: None,
            origin,
            verdict: None,
            has_signal: false,
            is_arch_assumed: false,
            process: None,
        }
    }
}
