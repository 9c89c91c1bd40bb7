//! A request after it was read.

use callgate::Arch;
use callgate::codegen::{Aim, Instructions, Model};

use crate::source::SourceText;

/// A request.
pub(crate) struct Request {
    /// The architecture of the machine.
    pub(crate) machine: Arch,
    pub(crate) operation: Operation,
}

pub(crate) enum Operation {
    Compile { source: SourceText, compiling: Compiling },
    Template { source: SourceText, compiling: Compiling },
    Optimize { source: SourceText, compiling: Compiling },
    Merge { sources: Vec<SourceText>, compiling: Compiling },
    Explain { source: SourceText, syscalls: Vec<String> },
    Diff { filters: [SourceText; 2], max: Option<u32> },
    Subset { filters: [SourceText; 2], max: Option<u32> },
    Simulate { source: SourceText, compiling: Compiling, call: Call },
    Recording(Recorded),
}

/// How filters are compiled.
#[derive(Default)]
pub(crate) struct Compiling {
    pub(crate) model: Model,
    pub(crate) aim: Aim,
    pub(crate) instructions: Instructions,
    /// The text of a file of weights.
    pub(crate) weights: Option<String>,
}

/// A recording as text.
pub(crate) struct Recorded {
    pub(crate) text: String,
    /// Its name in messages.
    pub(crate) name: String,
    /// Whether unknown names are errors.
    pub(crate) strict: bool,
    /// Whether the complete entries of a truncated recording are read.
    pub(crate) partial: bool,
}

/// A syscall as text.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) syscall: String,
    pub(crate) args: Vec<String>,
    pub(crate) arch: Option<Arch>,
    pub(crate) instruction_pointer: u64,
}
