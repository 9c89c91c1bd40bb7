//! The one error of the front door.

use std::fmt;

use crate::compile::CompileError;
use crate::filter::RuleError;
use crate::stack::StackError;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position};
use callgate_bpf::{Arch, ProgramError};
use callgate_proof::diagram::DiagramError;
use callgate_proof::policy::PolicyError;

/// The result of what can fail in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be built, read, compiled or compared.
///
/// It prints as a complete message: what is wrong, where, the limit and the given value. `{:?}` prints
/// the same and what to do about it, so that a `main` that returns this error is readable.
/// [`Error::kind`] and [`source`](std::error::Error::source) have the error in detail.
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

/// What went wrong, with the error in detail.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A rule of a [`FilterBuilder`](crate::FilterBuilder).
    Rule(RuleError),
    /// A builder as a whole.
    Build(BuildError),
    /// Sections that do not form a policy.
    Policy(PolicyError),
    /// A filter that does not become a program.
    Compile(CompileError),
    /// A program that the kernel would refuse.
    Program(ProgramError),
    /// A filter that is too complex for the budget of its decision diagram.
    Diagram(DiagramError),
    /// Filters that do not stand on top of each other.
    Stack(StackError),
    /// A text that cannot be read: messages with line and column.
    Read(Diagnostics),
}

/// What is wrong with filters as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No architecture was given.
    NoArch,
    /// Two filters that are to be compared are for machines of different byte order.
    ByteOrders,
    /// There is a verdict for x32, but x86-64 is not among the architectures, or x32 is itself.
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
                "the filters are for machines of different byte order, so no call reaches both; compare \
                 filters for one machine",
            ),
            BuildError::NoX32 { arches } => {
                let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
                write!(
                    f,
                    "a verdict for the numbers of x32 has no effect on {}: it is for x86_64 without x32",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for BuildError {}

impl Error {
    /// What went wrong, with the error in detail.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// What to do about it, perhaps in several lines, where the message does not say it.
    pub fn help(&self) -> Option<String> {
        match self.kind() {
            ErrorKind::Compile(error) => error.help(),
            ErrorKind::Stack(error) => error.help(),
            _ => None,
        }
    }

    /// Where in a text it is, for an error of a reader.
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
    /// The error in detail, whose message is part of this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.inner())
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(messages: Vec<Diagnostic>) -> Error {
        Diagnostics::from(messages).into()
    }
}

macro_rules! from {
    ($($kind:ident($error:ty)),* $(,)?) => {$(
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
    Read(Diagnostics),
);
