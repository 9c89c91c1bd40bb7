//! A request after it was read.

use callgate::Arch;
use callgate::sets::Arguments;
use callgate_codegen::{Aim, Instructions, Model};

use crate::lint::Choice;
use crate::source::SourceText;

/// A request.
pub struct Request {
    /// The architecture of the machine.
    pub machine: Arch,
    /// What is requested.
    pub operation: Operation,
}

/// What is requested; the documentation of the crate describes each operation.
#[allow(missing_docs)]
pub enum Operation {
    Compile { source: SourceText, compiling: Compiling },
    Template { source: SourceText, compiling: Compiling },
    Optimize { source: SourceText, compiling: Compiling },
    Merge { sources: Vec<SourceText>, compiling: Compiling },
    Explain { source: SourceText, syscalls: Vec<String> },
    Diff { filters: [SourceText; 2], max: Option<u32>, arguments: Arguments },
    Subset { filters: [SourceText; 2], max: Option<u32>, arguments: Option<Arguments> },
    Simulate { source: SourceText, compiling: Compiling, call: Call },
    Lint { source: SourceText, choice: Choice },
    Recording(Recorded),
}

/// How filters are compiled.
#[derive(Clone, Debug, Default)]
pub struct Compiling {
    /// The cost model of the kernel; without it, that of the kernel for which a source is read.
    pub model: Option<Model>,
    /// What is minimized first.
    pub aim: Aim,
    /// The permitted instructions.
    pub instructions: Instructions,
    /// The text of a file of weights.
    pub weights: Option<String>,
}

/// A recording as text.
pub struct Recorded {
    /// The text.
    pub text: String,
    /// Its name in messages.
    pub name: String,
    /// Whether unknown names are errors.
    pub strict: bool,
    /// Whether the complete entries of a truncated recording are read.
    pub partial: bool,
}

/// A syscall as text.
#[derive(Default)]
pub struct Call {
    /// Its name or number.
    pub syscall: String,
    /// Numbers, or names such as `O_RDWR`.
    pub args: Vec<String>,
    /// The ABI.
    pub arch: Option<Arch>,
    /// The address of the instruction.
    pub instruction_pointer: u64,
}
