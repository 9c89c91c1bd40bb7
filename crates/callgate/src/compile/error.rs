//! The error of a compilation.

use super::too_complex::TooComplex;
use super::too_long::TooLong;
use callgate_core::diagram::DiagramError;
use callgate_core::template::TemplateError;
use callgate_core::{MeaningErrorKind, NotProved, ProgramError, SeccompData};

/// The error of a compilation.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileError(pub(super) CompileErrorKind);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum CompileErrorKind {
    Diagram(DiagramError),
    TooComplex(Box<TooComplex>),
    TooLong(Box<TooLong>),
    Refused(ProgramError),
    NotEqual(Option<Box<SeccompData>>),
    NotConstantAllow { token: u32, nr: u32 },
    Patches(TemplateError),
    SharedBits,
    ComparedArguments,
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            CompileErrorKind::Diagram(error) => error.fmt(f),
            CompileErrorKind::TooComplex(error) => error.limit.fmt(f),
            CompileErrorKind::TooLong(error) => error.fmt(f),
            CompileErrorKind::Refused(error) => {
                write!(
                    f,
                    "the kernel would refuse the generated program (a defect of callgate): {error}"
                )
            }
            CompileErrorKind::NotEqual(witness) => {
                match witness {
                    Some(data) => write!(
                        f,
                        "the generated program differs from its description (a defect of callgate), for example at \
                         {data:x?}"
                    ),
                    None => f.write_str(
                        "the generated program is not proved equal to its description (a defect of callgate)",
                    ),
                }
            }
            CompileErrorKind::NotConstantAllow { token, nr } => write!(
                f,
                "the generated program does not let the kernel see that syscall {nr} of arch \
                 {token:#010x} is always allowed (a defect of callgate)"
            ),
            CompileErrorKind::SharedBits => f.write_str(
                "the permitted instructions cannot tell whether an argument shares bits with a variable",
            ),
            CompileErrorKind::ComparedArguments => f.write_str(
                "the filter compares arguments with each other, which the permitted instructions cannot",
            ),
            CompileErrorKind::Patches(error) => {
                write!(
                    f,
                    "the generated program has impossible patches (a defect of callgate): {error}"
                )
            }
        }
    }
}

impl std::error::Error for CompileError {
    /// The error of the diagram, or of the acceptance rules, whose message is part of this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            CompileErrorKind::Diagram(error) => Some(error),
            CompileErrorKind::TooComplex(error) => Some(&error.limit),
            CompileErrorKind::Refused(error) => Some(error),
            CompileErrorKind::Patches(error) => Some(error),
            CompileErrorKind::TooLong(_)
            | CompileErrorKind::SharedBits
            | CompileErrorKind::ComparedArguments
            | CompileErrorKind::NotEqual(_)
            | CompileErrorKind::NotConstantAllow { .. } => None,
        }
    }
}

impl CompileError {
    /// Whether it is a defect of this library: a check of the generated program failed.
    pub(crate) fn is_defect(&self) -> bool {
        match &self.0 {
            CompileErrorKind::Diagram(error) => error.is_defect(),
            CompileErrorKind::TooComplex(error) => error.limit.is_defect(),
            CompileErrorKind::TooLong(_)
            | CompileErrorKind::SharedBits
            | CompileErrorKind::ComparedArguments => false,
            CompileErrorKind::Refused(_)
            | CompileErrorKind::NotEqual(_)
            | CompileErrorKind::Patches(_)
            | CompileErrorKind::NotConstantAllow { .. } => true,
        }
    }

    /// Whether the diagram exceeded its budget.
    pub(super) fn is_out_of_budget(&self) -> bool {
        matches!(&self.0, CompileErrorKind::Diagram(error) if error.is_out_of_budget())
    }

    /// Whether the filter has variables, and the operation is defined only for filters without.
    fn needs_values(&self) -> bool {
        match &self.0 {
            CompileErrorKind::Diagram(error) => error.needs_values(),
            CompileErrorKind::TooComplex(error) => error.limit.needs_values(),
            _ => false,
        }
    }

    /// [`CompileError::help`]; or how to give values, in the words of the caller, if the filter
    /// needs them.
    pub fn help_or_values(&self, give_values: &str) -> Option<String> {
        if self.needs_values() { Some(give_values.to_owned()) } else { self.help() }
    }

    /// The number of instructions that the filter needs, if the kernel accepts fewer.
    pub fn insns_needed(&self) -> Option<usize> {
        self.too_long().map(|error| error.insns)
    }

    /// The details, if the program is too long for the kernel.
    pub fn too_long(&self) -> Option<&TooLong> {
        match &self.0 {
            CompileErrorKind::TooLong(error) => Some(error),
            _ => None,
        }
    }

    /// How to fix it, possibly several lines.
    pub fn help(&self) -> Option<String> {
        match &self.0 {
            CompileErrorKind::TooLong(error) => Some(error.help()),
            CompileErrorKind::TooComplex(error) => error.help(),
            CompileErrorKind::Diagram(error) if error.has_too_many_comparisons() => Some(
                "use fewer variables, or compare fewer arguments with them and with each other; or split the filter into \
                 a stack of filters: the kernel runs all of them"
                    .to_owned(),
            ),
            CompileErrorKind::SharedBits => {
                Some("permit all instructions, or compare the variable for equality".to_owned())
            }
            CompileErrorKind::ComparedArguments => Some("permit all instructions".to_owned()),
            _ => None,
        }
    }
}

impl From<DiagramError> for CompileError {
    fn from(error: DiagramError) -> CompileError {
        CompileError(CompileErrorKind::Diagram(error))
    }
}

impl From<MeaningErrorKind> for CompileError {
    fn from(kind: MeaningErrorKind) -> CompileError {
        CompileError(match kind {
            MeaningErrorKind::Diagram(error) => CompileErrorKind::Diagram(error),
            MeaningErrorKind::Defect(data) => CompileErrorKind::NotEqual(Some(Box::new(data))),
            // `Stack`, which has one error for each of them, checks that before. The enum may grow.
            MeaningErrorKind::Notifies(_)
            | MeaningErrorKind::Empty
            | MeaningErrorKind::ByteOrder
            | _ => CompileErrorKind::NotEqual(None),
        })
    }
}

impl From<NotProved> for CompileError {
    fn from(error: NotProved) -> CompileError {
        CompileError(match (error.diagram_error(), error.not_constant_allow()) {
            (Some(error), _) => CompileErrorKind::Diagram(error),
            (None, Some((token, nr))) => CompileErrorKind::NotConstantAllow { token, nr },
            (None, None) => CompileErrorKind::NotEqual(error.witness().copied().map(Box::new)),
        })
    }
}

impl From<TooComplex> for CompileError {
    fn from(error: TooComplex) -> CompileError {
        CompileError(CompileErrorKind::TooComplex(Box::new(error)))
    }
}
