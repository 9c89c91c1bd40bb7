//! What a line of a log is.

use std::borrow::Cow;

use super::model::LoggedCall;
use super::tally::Origin;

/// A line that may be about a denial.
#[derive(Debug)]
pub(super) enum Parsed<'t> {
    /// A denied syscall, and the program.
    Denial(LoggedCall, Option<Cow<'t, str>>, Origin),
    /// A syscall that was logged and executed.
    Logged,
    /// A report whose syscall is not known, and why.
    Unread(String),
    /// A report of `SIGSYS` without the syscall, which may follow.
    Signal,
    /// Another line.
    Nothing,
}
