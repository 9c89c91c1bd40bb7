//! Programs with patches.

use super::error::{MAX_VARIABLES, TemplateError, ValueError};
use super::symbol::Patch;
use super::variable::{Variable, check_values};
use crate::{Op, Program};

/// A program with variables. See the [module](super).
///
/// A template cannot be installed, so no variable can be forgotten: only [`Template::instantiate`] makes a [`Program`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    program: Program,
    variables: Vec<Variable>,
    patches: Vec<Patch>,
}

impl Template {
    /// A program whose patched instructions have any constant.
    ///
    /// # Errors
    /// If there are more than [`MAX_VARIABLES`] variables, or two with the same name; if two patches have the same
    /// instruction; if an instruction is not a comparison with a constant, or does not exist; or if a variable does not
    /// exist.
    pub fn new(
        program: Program,
        variables: Vec<Variable>,
        mut patches: Vec<Patch>,
    ) -> Result<Template, TemplateError> {
        if variables.len() > MAX_VARIABLES {
            return Err(TemplateError::variables(variables.len()));
        }
        for (index, variable) in variables.iter().enumerate() {
            if variables.iter().take(index).any(|other| other.name() == variable.name()) {
                return Err(TemplateError::duplicate(variable.name()));
            }
        }
        patches.sort_by_key(|patch| patch.insn);
        for patch in &patches {
            let op = program.insns().get(patch.insn).map(|insn| insn.op);
            if !matches!(op, Some(Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK)) {
                return Err(TemplateError::insn(patch.insn));
            }
            if patch.symbol.variable() >= variables.len() {
                return Err(TemplateError::variable(patch.insn, patch.symbol.variable()));
            }
        }
        match patches.windows(2).find(|pair| matches!(pair, [a, b] if a.insn == b.insn)) {
            Some(pair) => Err(TemplateError::twice(pair.first().map_or(0, |patch| patch.insn))),
            None => Ok(Template { program, variables, patches }),
        }
    }

    /// The program, the variables and the patches.
    pub fn into_parts(self) -> (Program, Vec<Variable>, Vec<Patch>) {
        (self.program, self.variables, self.patches)
    }

    /// The program; the constants of patched instructions mean nothing.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The variables; symbols refer to them by index.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The patches, in the order of their instructions.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The patch of an instruction.
    pub fn patch_at(&self, insn: usize) -> Option<&Patch> {
        let at = self.patches.binary_search_by_key(&insn, |patch| patch.insn).ok()?;
        self.patches.get(at)
    }

    /// The program for these values, one for each variable, in the order of [`Template::variables`].
    ///
    /// # Errors
    /// If the number of values is not that of the variables, or a value does not fit.
    pub fn instantiate(&self, values: &[u64]) -> Result<Program, ValueError> {
        check_values(&self.variables, values)?;
        let mut insns = self.program.insns().to_vec();
        for patch in &self.patches {
            if let Some(insn) = insns.get_mut(patch.insn) {
                insn.k = patch.constant(values);
            }
        }
        // The kernel accepts a comparison with any constant.
        Program::new(insns).map_err(|error| ValueError::refused(&error))
    }
}
