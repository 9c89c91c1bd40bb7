//! The error for a stack that cannot be merged.

use crate::compile::CompileError;
use callgate_bpf::data::Endian;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::DiagramError;

/// Why a stack does not become one program.
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
    /// The filter that it is about, counted from 0 for the oldest; `None` when it is about all.
    pub fn filter(&self) -> Option<usize> {
        self.filter
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match &self.kind {
            StackErrorKind::Empty => "name the filters, the oldest first".to_owned(),
            StackErrorKind::ByteOrder { .. } => {
                "give sources for one machine; --arch and --endian say how they are read".to_owned()
            }
            StackErrorKind::Listener
            | StackErrorKind::Notifies(_)
            | StackErrorKind::WaitKillable => {
                "merge the other filters, and install this one as it is".to_owned()
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
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            StackErrorKind::Empty => f.write_str("a stack without filters has no meaning"),
            StackErrorKind::ByteOrder { given } => {
                let (own, others) = match given {
                    Endian::Big => ("big-endian", "little-endian"),
                    Endian::Little => ("little-endian", "big-endian"),
                };
                write!(
                    f,
                    "cannot be merged: it is for {own} machines, and the filters before it for \
                     {others} ones"
                )
            }
            StackErrorKind::Listener => f.write_str(
                "cannot be merged: it has a listener (`listenerPath`), and the kernel asks the \
                 listener of a filter about the calls of that filter alone",
            ),
            StackErrorKind::Notifies(verdict) => write!(
                f,
                "cannot be merged: it leaves calls to a listener ({verdict}), and the kernel asks \
                 the listener of a filter about the calls of that filter alone"
            ),
            StackErrorKind::WaitKillable => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, which is about \
                 the listener of that filter alone",
            ),
            StackErrorKind::Log { without } => write!(
                f,
                "cannot be merged: it has SECCOMP_FILTER_FLAG_LOG and filter {} of the stack has \
                 not, but the kernel logs the verdicts of the filters with the flag alone",
                without + 1
            ),
            StackErrorKind::Tsync => f.write_str(
                "cannot be merged: it has SECCOMP_FILTER_FLAG_TSYNC and the newest filter has not, \
                 so that the other threads have a part of the stack only",
            ),
            StackErrorKind::Compile(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StackError {
    /// The error of the compilation, whose message is this one's.
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

impl From<DiagramError> for StackError {
    fn from(error: DiagramError) -> StackError {
        CompileError::from(error).into()
    }
}
