//! Why there is no meaning, or no proof.

use crate::{SeccompData, Verdict};

use crate::diagram::DiagramError;

/// The error when the function of a [`Spec`](crate::Spec) cannot be found.
#[derive(Clone, Debug, PartialEq)]
pub struct MeaningError {
    /// The filter of a stack or a set that is wrong; `None` if it is the whole.
    pub operand: Option<usize>,
    /// What is wrong.
    pub kind: MeaningErrorKind,
}

/// What is wrong with a [`Spec`](crate::Spec).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MeaningErrorKind {
    /// The diagram exceeds its budget, or is defective.
    Diagram(DiagramError),
    /// A filter of a stack returns this verdict, which asks its listener. The listener belongs to that filter.
    Notifies(Verdict),
    /// The stack is empty.
    Empty,
    /// The filter is for machines of the other byte order than the first one.
    ByteOrder,
    /// The function of a stack has another verdict for this syscall than the kernel's loop over the filters, because of a
    /// defect in this crate.
    Defect(SeccompData),
}

impl From<DiagramError> for MeaningError {
    fn from(error: DiagramError) -> MeaningError {
        MeaningError { operand: None, kind: MeaningErrorKind::Diagram(error) }
    }
}

impl std::fmt::Display for MeaningError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(operand) = self.operand {
            write!(f, "filter {}: ", operand + 1)?;
        }
        match &self.kind {
            MeaningErrorKind::Diagram(error) => error.fmt(f),
            MeaningErrorKind::Notifies(verdict) => {
                write!(f, "it notifies its listener ({verdict})")
            }
            MeaningErrorKind::Empty => f.write_str("there is no filter"),
            MeaningErrorKind::ByteOrder => {
                f.write_str("it is for machines of the other byte order than the first one")
            }
            MeaningErrorKind::Defect(data) => {
                write!(f, "the function of the stack is wrong at {data:x?} (a defect of callgate)")
            }
        }
    }
}

impl std::error::Error for MeaningError {}

/// The error when a program is not proved equal to its description.
#[derive(Clone, Debug, PartialEq)]
pub struct NotProved<D = SeccompData>(pub(crate) Refusal<D>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal<D> {
    Differs(Box<D>),
    /// The nodes differ, but the search for a witness reached a comparison with a variable or of two words.
    Unproved,
    /// The kernel would not recognize that this syscall, by token and number, is always allowed.
    NotConstantAllow(u32, u32),
    Diagram(DiagramError),
}

impl<D> NotProved<D> {
    /// A witness: a syscall, or another input, for which the program and the meaning differ. `None` if there is no proof for
    /// another reason, among them that they differ in comparisons with variables or between arguments, which the proof takes as
    /// independent of each other.
    pub fn witness(&self) -> Option<&D> {
        match &self.0 {
            Refusal::Differs(witness) => Some(witness),
            _ => None,
        }
    }

    /// The error of the diagram that ended the proof without a result.
    pub fn diagram_error(&self) -> Option<DiagramError> {
        match &self.0 {
            Refusal::Diagram(error) => Some(*error),
            _ => None,
        }
    }

    /// The arch token and the number of a syscall that the filter always allows, but the program not by constant allow.
    pub fn not_constant_allow(&self) -> Option<(u32, u32)> {
        match &self.0 {
            Refusal::NotConstantAllow(token, nr) => Some((*token, *nr)),
            _ => None,
        }
    }
}

impl<D> From<DiagramError> for NotProved<D> {
    fn from(error: DiagramError) -> NotProved<D> {
        NotProved(Refusal::Diagram(error))
    }
}

impl<D: std::fmt::Debug> std::fmt::Display for NotProved<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Refusal::Differs(data) => {
                write!(f, "the program differs from its description, for example at {data:x?}")
            }
            Refusal::Unproved => f.write_str(
                "the program is not proved equal to its description; the proof takes comparisons with variables and \
                 between arguments as independent of each other",
            ),
            Refusal::NotConstantAllow(token, nr) => write!(
                f,
                "the kernel would not recognize that syscall {nr} of arch {token:#x} is always allowed"
            ),
            Refusal::Diagram(error) => error.fmt(f),
        }
    }
}

impl<D: std::fmt::Debug> std::error::Error for NotProved<D> {}
