//! The operations on two filters, and the errors of expressions.

use callgate_bpf::advice::Advice;
use callgate_core::diagram::DiagramError;
use callgate_core::{Arch, Verdict};

use crate::compile::CompileError;

/// An operation on two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What both permit.
    Intersect,
    /// What at least one of them permits.
    Union,
    /// What the first one permits and the second one does not.
    Subtract {
        /// The verdict for what is removed; `None` for the one that the first filter of the expression has by default, on
        /// each architecture: for syscalls that it does not name. It is EPERM if that one permits.
        denied: Option<Verdict>,
    },
}

impl Operation {
    /// The sign of the operation in an expression.
    pub fn sign(self) -> &'static str {
        match self {
            Operation::Intersect => "^",
            Operation::Union => "+",
            Operation::Subtract { .. } => "-",
        }
    }
}

/// The error of an [`Expression`](super::Expression).
#[derive(Clone, Debug, PartialEq)]
pub struct SetError(pub(super) Kind);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Compile(CompileError),
    ByteOrders {
        operand: usize,
    },
    /// An operand allows what it does not name.
    Denylist {
        operand: usize,
        with: usize,
        operation: Operation,
        arch: Arch,
    },
    /// A syscall is the operand of `^`.
    OnlyOneSyscall {
        operand: usize,
    },
}

impl SetError {
    /// The operand that the error is about, from 0; `None` for an error about the result.
    pub fn operand(&self) -> Option<usize> {
        match self.0 {
            Kind::Compile(_) => None,
            Kind::ByteOrders { operand }
            | Kind::Denylist { operand, .. }
            | Kind::OnlyOneSyscall { operand } => Some(operand),
        }
    }

    /// How to fix it, with the operands as the caller names them.
    pub fn help_with(&self, names: &[&str]) -> Option<String> {
        let name = |operand: usize| names.get(operand).copied().unwrap_or("…");
        match &self.0 {
            Kind::Compile(error) => error.help(),
            Kind::ByteOrders { .. } => Some(Advice::OneMachine.to_string()),
            Kind::Denylist { operand, with, .. } => {
                Some(format!("to restrict, write '{} ^ {}'", name(*with), name(*operand)))
            }
            Kind::OnlyOneSyscall { operand } => {
                let (first, syscall) = (name(0), name(*operand));
                Some(format!(
                    "to deny the syscall, write '{first} - {syscall}'; to allow it, write '{first} + {syscall}'"
                ))
            }
        }
    }

    /// The advice that interfaces word in their own way, if the help is such advice.
    pub fn advice(&self) -> Option<Advice> {
        matches!(self.0, Kind::ByteOrders { .. }).then_some(Advice::OneMachine)
    }
}

impl std::fmt::Display for SetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Compile(error) => error.fmt(f),
            Kind::ByteOrders { .. } => f.write_str(
                "the filters are for machines of different byte orders, so no syscall reaches both",
            ),
            Kind::Denylist { operation, arch, .. } => {
                let effect = match operation {
                    Operation::Subtract { .. } => "deny",
                    Operation::Union | Operation::Intersect => "allow",
                };
                let sign = operation.sign();
                write!(
                    f,
                    "this filter allows what it does not name (on {arch}), so \"{sign}\" would {effect} everything"
                )
            }
            Kind::OnlyOneSyscall { .. } => {
                f.write_str("\"^\" with a syscall would deny everything but this syscall")
            }
        }
    }
}

impl std::error::Error for SetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Compile(error) => error.source(),
            _ => None,
        }
    }
}

impl From<CompileError> for SetError {
    fn from(error: CompileError) -> SetError {
        SetError(Kind::Compile(error))
    }
}

impl From<DiagramError> for SetError {
    fn from(error: DiagramError) -> SetError {
        SetError(Kind::Compile(error.into()))
    }
}
