//! The error for a stack that cannot be merged.

use crate::compile::CompileError;
use callgate_bpf::advice::Advice;
use callgate_core::{Endian, Verdict};

/// The error for a stack that cannot be merged.
#[derive(Clone, Debug, PartialEq)]
pub struct StackError {
    pub(super) filter: Option<usize>,
    pub(super) kind: StackErrorKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum StackErrorKind {
    Empty,
    ByteOrder { given: Endian },
    Listener,
    Notifies(Verdict),
    WaitKillable,
    Log { without: usize },
    Tsync,
    Compile(CompileError),
}

impl StackError {
    /// The index of the filter, 0 for the oldest; `None` if the error concerns all filters.
    pub fn filter(&self) -> Option<usize> {
        self.filter
    }

    /// How to fix it.
    pub fn help(&self) -> Option<String> {
        Some(match &self.kind {
            StackErrorKind::Empty => "give at least one filter, the oldest first".to_owned(),
            StackErrorKind::ByteOrder { .. } => Advice::OneByteOrder.to_string(),
            StackErrorKind::Listener
            | StackErrorKind::Notifies(_)
            | StackErrorKind::WaitKillable => {
                "merge the other filters, and install this one separately".to_owned()
            }
            StackErrorKind::Log { .. } => {
                "merge filters that all have the flag, or none of them".to_owned()
            }
            StackErrorKind::Tsync => {
                "give the flag to the newest filter as well, or leave it out".to_owned()
            }
            StackErrorKind::Compile(error) => return error.help(),
        })
    }

    /// The advice that interfaces word in their own way, if [`StackError::help`] is such advice.
    pub fn advice(&self) -> Option<Advice> {
        matches!(self.kind, StackErrorKind::ByteOrder { .. }).then_some(Advice::OneByteOrder)
    }

    /// [`StackError::help`]; or how to give values, in the words of the caller, if a filter has variables.
    pub fn help_or_values(&self, give_values: &str) -> Option<String> {
        match &self.kind {
            StackErrorKind::Compile(error) => error.help_or_values(give_values),
            _ => self.help(),
        }
    }
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            StackErrorKind::Empty => f.write_str("the stack has no filters"),
            StackErrorKind::ByteOrder { given } => {
                let (own, others) = match given {
                    Endian::Big => ("big-endian", "little-endian"),
                    Endian::Little => ("little-endian", "big-endian"),
                };
                write!(
                    f,
                    "cannot be merged: it is for {own} machines, and the filters before it are for \
                     {others} machines"
                )
            }
            StackErrorKind::Listener => f.write_str(
                "cannot be merged: it has a listener (`listenerPath`), and the kernel sends \
                 notifications of a filter only to the listener of that filter",
            ),
            StackErrorKind::Notifies(verdict) => write!(
                f,
                "cannot be merged: it notifies a listener ({verdict}), and the kernel sends \
                 notifications of a filter only to the listener of that filter"
            ),
            StackErrorKind::WaitKillable => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which applies \
                 only to the listener of that filter",
            ),
            StackErrorKind::Log { without } => write!(
                f,
                "cannot be merged: it has SECCOMP_FILTER_FLAG_LOG, but filter {} of the stack does \
                 not, and the kernel logs only the verdicts of filters with the flag",
                without + 1
            ),
            StackErrorKind::Tsync => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_TSYNC, but the newest filter does not, \
                 so the other threads have only a part of the stack",
            ),
            StackErrorKind::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StackError {
    /// The error of the compilation, which has the same message.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            StackErrorKind::Compile(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CompileError> for StackError {
    fn from(error: CompileError) -> StackError {
        StackError { filter: None, kind: StackErrorKind::Compile(error) }
    }
}
