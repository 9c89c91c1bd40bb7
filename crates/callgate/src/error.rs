//! The error type of this crate.

use std::fmt;

use crate::compile::CompileError;
#[cfg(feature = "sources")]
use crate::convert::ConvertError;
use crate::filter::{RuleError, write_errno};
use crate::sets::SetError;
use crate::stack::StackError;
use callgate_bpf::asm::AsmError;
use callgate_bpf::diagnostic::{Diagnostics, Position};
use callgate_codegen::WeightError;
use callgate_core::diagram::DiagramError;
use callgate_core::policy::PolicyError;
use callgate_core::{Arch, ProgramError};
#[cfg(feature = "sources")]
use callgate_trace::generate::GenerateError;

/// The result of fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of building, reading, compiling or comparing filters.
///
/// It is displayed as a complete message: what is wrong, where, the limit and the given value. `{:?}` adds how to fix
/// it, so that the output of a `main` that returns this error is readable. [`Error::kind`] is the underlying error, and
/// [`source`](std::error::Error::source) its cause: like `std::io::Error`, no error in the chain repeats this one.
///
/// ```
/// use callgate::{Arch, Filter};
///
/// let error = Filter::builder(Arch::X86_64).deny(["unshar"]).unwrap_err();
/// assert_eq!(error.to_string(), r#"rule 1: unknown syscall "unshar"; did you mean "unshare"?"#);
/// assert_eq!(format!("{error:?}"), error.to_string());
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<ErrorKind>);

/// The kinds of errors, with the underlying error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An invalid rule of a [`FilterBuilder`](crate::FilterBuilder).
    Rule(RuleError),
    /// An invalid builder or comparison.
    Build(BuildError),
    /// Sections that do not form a policy.
    Policy(PolicyError),
    /// A filter that cannot be compiled.
    Compile(CompileError),
    /// A program that the kernel would refuse.
    Program(ProgramError),
    /// A filter that is too complex for the budget of its decision diagram.
    Diagram(DiagramError),
    /// A stack of filters that cannot be merged.
    Stack(StackError),
    /// Filters that cannot be combined as sets.
    Set(SetError),
    /// A filter that cannot be converted.
    #[cfg(feature = "sources")]
    Convert(ConvertError),
    /// A count that is not a valid weight.
    Weight(WeightError),
    /// A profile that cannot be generated from recordings.
    #[cfg(feature = "sources")]
    Generate(GenerateError),
    /// An invalid text: messages with line and column. All readers return it.
    Read(Diagnostics),
}

/// An error that concerns filters as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Missing architecture.
    NoArch,
    /// Filters with different byte orders cannot be compared.
    ByteOrders,
    /// An errno that is larger than the kernel's limit.
    Errno {
        /// The method that set it.
        method: &'static str,
        /// The errno.
        given: u16,
    },
    /// There is a verdict for x32, but the architectures do not include x86-64, or they include x32.
    NoX32 {
        /// The architectures of the builder.
        arches: Vec<Arch>,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoArch => f.write_str("missing architecture: give at least one to Filter::builder"),
            BuildError::ByteOrders => f.write_str(
                "the filters are for machines of different byte orders, so no syscall reaches both; compare \
                 filters of one byte order",
            ),
            BuildError::Errno { method, given } => {
                write!(f, "{method}: ")?;
                write_errno(f, *given)
            }
            BuildError::NoX32 { arches } => {
                let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
                write!(
                    f,
                    "a verdict for the syscall numbers of x32 has no effect on {}; use it for x86_64 without x32",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for BuildError {}

impl Error {
    /// The kinds of errors, with the underlying error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// How to fix it, possibly several lines; `None` if the message says it.
    pub fn help(&self) -> Option<String> {
        match self.kind() {
            ErrorKind::Compile(error) => error.help(),
            ErrorKind::Stack(error) => error.help(),
            ErrorKind::Set(error) => {
                error.help_with(&[], "give filters for machines of one byte order")
            }
            #[cfg(feature = "sources")]
            ErrorKind::Convert(error) => Some(error.help().to_owned()),
            #[cfg(feature = "sources")]
            ErrorKind::Generate(error) => Some(error.help().to_owned()),
            _ => None,
        }
    }

    /// The position in the text, for an error of a reader.
    pub fn position(&self) -> Option<Position> {
        match self.kind() {
            ErrorKind::Read(messages) => messages.position(),
            _ => None,
        }
    }

    fn inner(&self) -> &(dyn std::error::Error + 'static) {
        match self.kind() {
            ErrorKind::Rule(error) => error,
            ErrorKind::Build(error) => error,
            ErrorKind::Policy(error) => error,
            ErrorKind::Compile(error) => error,
            ErrorKind::Program(error) => error,
            ErrorKind::Diagram(error) => error,
            ErrorKind::Stack(error) => error,
            ErrorKind::Set(error) => error,
            #[cfg(feature = "sources")]
            ErrorKind::Convert(error) => error,
            ErrorKind::Weight(error) => error,
            #[cfg(feature = "sources")]
            ErrorKind::Generate(error) => error,
            ErrorKind::Read(error) => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        match self.help() {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    /// The cause of the underlying error, which itself has the same message as this one.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner().source()
    }
}

impl From<AsmError> for Error {
    fn from(error: AsmError) -> Error {
        Diagnostics::from(error.into_diagnostics()).into()
    }
}

macro_rules! from {
    ($($(#[$feature:meta])? $kind:ident($error:ty)),* $(,)?) => {$(
        $(#[$feature])?
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error(Box::new(ErrorKind::$kind(error)))
            }
        }
    )*};
}

from!(
    Rule(RuleError),
    Build(BuildError),
    Policy(PolicyError),
    Compile(CompileError),
    Program(ProgramError),
    Diagram(DiagramError),
    Stack(StackError),
    Set(SetError),
    #[cfg(feature = "sources")]
    Convert(ConvertError),
    Weight(WeightError),
    #[cfg(feature = "sources")]
    Generate(GenerateError),
    Read(Diagnostics),
);
