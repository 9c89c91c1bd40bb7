//! What a line of a log is.

use std::borrow::Cow;

use callgate_core::Verdict;

use super::model::LoggedCall;
use super::tally::Origin;
use super::tombstone::Tombstone;
use crate::logs::markers::Marker;

/// A line that may be about a denial.
#[derive(Debug)]
pub(super) enum Parsed<'t> {
    /// A denied syscall.
    Denial(Found<'t>),
    /// A syscall that was logged and executed.
    Logged,
    /// The cause in a crash dump of Android, below which the registers follow.
    Tombstone(Tombstone),
    /// A report whose syscall is not known, and why.
    Unread(String),
    /// A report of `SIGSYS` without the syscall, which another line may name; whose marker says why it is not read.
    Signal(Marker),
    /// Another line.
    Nothing,
}

/// A denied syscall as a line reports it.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) call: LoggedCall,
    pub(super) program: Option<Cow<'t, str>>,
    pub(super) origin: Origin,
    /// What the filter returned, if the line says it: the action without its data.
    pub(super) verdict: Option<Verdict>,
    /// Whether the line does not name the architecture.
    pub(super) is_arch_assumed: bool,
    /// The number of the process, if the line has it.
    pub(super) process: Option<u32>,
}

impl Found<'_> {
    /// A denied syscall without further facts.
    pub(super) fn of(call: LoggedCall) -> Found<'static> {
        let origin = Origin::Other;
        Found { call, program: None, origin, verdict: None, is_arch_assumed: false, process: None }
    }
}
