//! Limits of variables, and the errors of variables, templates and values.

use std::fmt::{Display, Formatter, Result as Formatted};

use crate::ProgramError;

/// The maximum number of variables of a filter.
pub const MAX_VARIABLES: usize = 64;

/// The maximum length of the name of a variable.
pub const MAX_NAME: usize = 64;

/// The error for a variable: its name, or one too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableError(String);

impl VariableError {
    pub(super) fn name(name: &str) -> VariableError {
        VariableError(format!(
            "{} is not the name of a variable: at most {MAX_NAME} letters, digits and underscores, and no digit \
             in front",
            quote(name)
        ))
    }

    pub(super) fn too_many() -> VariableError {
        VariableError(format!(
            "the filter has more than {MAX_VARIABLES} variables (the limit); write values that do not change as numbers"
        ))
    }
}

impl Display for VariableError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(&self.0)
    }
}

impl std::error::Error for VariableError {}

/// The error for patches that do not fit a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError(String);

impl TemplateError {
    pub(super) fn variables(given: usize) -> TemplateError {
        TemplateError(format!("a filter has at most {MAX_VARIABLES} variables, not {given}"))
    }

    pub(super) fn duplicate(name: &str) -> TemplateError {
        TemplateError(format!("two variables have the name `{name}`"))
    }

    pub(super) fn insn(insn: usize) -> TemplateError {
        TemplateError(format!(
            "instruction {insn} cannot be patched: only comparisons with constants can"
        ))
    }

    pub(super) fn variable(insn: usize, index: usize) -> TemplateError {
        TemplateError(format!(
            "the patch of instruction {insn} needs variable {index}, which is not declared"
        ))
    }

    pub(super) fn twice(insn: usize) -> TemplateError {
        TemplateError(format!("instruction {insn} has two patches"))
    }
}

impl Display for TemplateError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TemplateError {}

/// The error for values that are not those of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(String);

impl ValueError {
    /// An error with this message, for those who find values by name.
    pub fn new(message: impl Into<String>) -> ValueError {
        ValueError(message.into())
    }

    pub(super) fn too_large(name: &str, bits: u32, value: u64) -> ValueError {
        ValueError(format!("{value:#x} does not fit into `{name}`, which has {bits} bits"))
    }

    pub(super) fn count(names: &[&str], given: usize) -> ValueError {
        let (count, names) = (names.len(), list(names));
        ValueError(format!("{given} values for {count} variables ({names}): give one for each"))
    }

    pub(super) fn refused(error: &ProgramError) -> ValueError {
        ValueError(format!("the kernel would refuse the program (a defect of callgate): {error}"))
    }
}

/// A name in quotes, shortened, and with escapes for characters that are not printable.
fn quote(name: &str) -> String {
    let shown: String = name.chars().take(MAX_NAME).flat_map(char::escape_debug).collect();
    let rest = if name.chars().nth(MAX_NAME).is_some() { "…" } else { "" };
    format!("`{shown}{rest}`")
}

/// Names in a list.
fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Display for ValueError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}
