//! Why an experiment is not possible.

use callgate::compile::CompileError;
use callgate::stack::StackError;
use callgate_core::policy::PolicyError;

use crate::libseccomp::LibseccompError;
use callgate_measure::SubjectError;

/// Why an experiment is not possible.
#[derive(Debug)]
pub struct ExperimentError(pub(super) ExperimentErrorKind);

#[derive(Debug)]
pub(super) enum ExperimentErrorKind {
    UnknownMachine,
    NoSyscall(&'static str),
    AllDenied,
    Denied {
        subject: String,
        syscall: &'static str,
        why: &'static str,
    },
    Policy(PolicyError),
    Compile(CompileError),
    Libseccomp(LibseccompError),
    Stack(StackError),
    Subject(SubjectError),
    Program(String),
    /// The packets of an experiment cannot be sent to a socket with the caller's filter.
    NoPacketSocket,
}

impl std::fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            ExperimentErrorKind::UnknownMachine => {
                f.write_str("the architecture of this machine is not supported")
            }
            ExperimentErrorKind::Denied { subject, syscall, why } => {
                write!(f, "the filter \"{subject}\" denies {syscall}, {why}")
            }
            ExperimentErrorKind::NoSyscall(name) => {
                write!(f, "this machine does not have the syscall {name}")
            }
            ExperimentErrorKind::AllDenied => {
                f.write_str("the filters deny all syscalls that it measures")
            }
            ExperimentErrorKind::Policy(error) => error.fmt(f),
            ExperimentErrorKind::Compile(error) => error.fmt(f),
            ExperimentErrorKind::Libseccomp(error) => error.fmt(f),
            ExperimentErrorKind::Stack(error) => error.fmt(f),
            ExperimentErrorKind::Subject(error) => error.fmt(f),
            ExperimentErrorKind::Program(error) => f.write_str(error),
            ExperimentErrorKind::NoPacketSocket => f.write_str(
                "your filter needs a packet socket, and this process may not create a network namespace for one",
            ),
        }
    }
}

impl ExperimentError {
    /// What to do.
    pub fn help(&self) -> &'static str {
        match self.0 {
            ExperimentErrorKind::Libseccomp(ref error) => error.help(),
            ExperimentErrorKind::UnknownMachine | ExperimentErrorKind::NoSyscall(_) => {
                "`cargo lab experiment` lists the others"
            }
            ExperimentErrorKind::NoPacketSocket => "run it as root, or permit user namespaces",
            ExperimentErrorKind::Denied { .. } => "give a filter that allows it",
            _ => "try another profile",
        }
    }
}

impl std::error::Error for ExperimentError {}

macro_rules! from {
    ($($error:ty => $kind:ident),*) => {
        $(impl From<$error> for ExperimentError {
            fn from(error: $error) -> ExperimentError {
                ExperimentError(ExperimentErrorKind::$kind(error))
            }
        })*
    };
}

from!(
    PolicyError => Policy,
    CompileError => Compile,
    LibseccompError => Libseccomp,
    StackError => Stack,
    SubjectError => Subject
);
