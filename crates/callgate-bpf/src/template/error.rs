//! Errors of variables, templates and values.

use std::fmt::{Display, Formatter, Result as Formatted};

use super::patch::Patch;
use super::variable::{MAX_NAME, MAX_VARIABLES, Variable};
use crate::ProgramError;
use crate::lexer::quote;
use crate::suggest::nearest;

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
        VariableError(format!("more than {MAX_VARIABLES} variables"))
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

    pub(super) fn duplicate(variable: &Variable) -> TemplateError {
        TemplateError(format!("two variables have the name `{}`", variable.name()))
    }

    pub(super) fn insn(insn: usize) -> TemplateError {
        TemplateError(format!(
            "instruction {insn} cannot be patched: only comparisons with constants can"
        ))
    }

    pub(super) fn variable(patch: &Patch) -> TemplateError {
        let (index, insn) = (patch.symbol.variable(), patch.insn);
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
    pub(super) fn too_large(variable: &Variable, value: u64) -> ValueError {
        let (name, bits, max) = (variable.name(), variable.bits(), variable.max());
        ValueError(format!(
            "{value:#x} does not fit into `{name}`: it has {bits} bits, at most {max:#x}"
        ))
    }

    pub(super) fn count(variables: &[Variable], given: usize) -> ValueError {
        let names = names(variables);
        let count = variables.len();
        ValueError(format!("{given} values for {count} variables ({names}): give one for each"))
    }

    pub(super) fn unknown(variables: &[Variable], name: &str) -> ValueError {
        let suggestion = nearest(name, variables.iter().map(Variable::name));
        let help = match suggestion {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
            None if variables.is_empty() => "the filter has no variables".to_owned(),
            None => format!("the filter has {}", names(variables)),
        };
        ValueError(format!("no variable {}; {help}", quote(name)))
    }

    pub(super) fn twice(name: &str) -> ValueError {
        ValueError(format!("two values for {}: give one", quote(name)))
    }

    pub(super) fn missing(variable: &Variable) -> ValueError {
        ValueError(format!("`{}` has no value", variable.name()))
    }

    pub(super) fn refused(error: &ProgramError) -> ValueError {
        ValueError(format!("the kernel would refuse the program (a defect of callgate): {error}"))
    }
}

/// The names of variables in a list.
fn names(variables: &[Variable]) -> String {
    let names: Vec<String> =
        variables.iter().map(|variable| format!("`{}`", variable.name())).collect();
    names.join(", ")
}

impl Display for ValueError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}
