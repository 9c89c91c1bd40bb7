//! Errors of all textual forms.

use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use callgate_core::RawInsn;

/// The instructions, unless there are errors.
pub(super) fn finish(insns: Vec<RawInsn>, errors: Errors) -> Result<Vec<RawInsn>, AsmError> {
    errors.check().map(|()| insns)
}

/// An error at a position.
pub(super) fn error(position: Position, message: String) -> Diagnostic {
    Diagnostic::error(Some(position), message)
}
