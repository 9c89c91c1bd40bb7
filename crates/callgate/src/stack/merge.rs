//! Merging a stack into one program.

use super::definition::Stack;
use super::error::{StackError, StackErrorKind};
use crate::compile::{self, CompileError, Compiled, Options, Parts, Phase};
use crate::description::Description;
use callgate_core::{Arch, Created, Meaning, MeaningError, MeaningErrorKind};

/// A stack merged into one program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Merged {
    /// The program, proved, and its figures.
    pub compiled: Compiled,
    /// The number of concrete syscalls for which the stack and the program were compared: one for each
    /// combination of verdicts.
    pub syscalls_compared: usize,
}

/// Merges a stack into one program with the same verdict, including its data, for every syscall. The syscalls of `arches`
/// have weights.
///
/// # Errors
/// If a filter notifies a listener; and as [`compile::compile`].
pub fn merge(stack: &Stack<'_>, arches: &[Arch], options: &Options) -> Result<Merged, StackError> {
    merge_observed(stack, arches, options, &mut |_| ())
}

/// As [`merge`]; `observe` is called at the end of each phase of the compilation.
///
/// # Errors
/// As [`merge`].
pub fn merge_observed(
    stack: &Stack<'_>,
    arches: &[Arch],
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<Merged, StackError> {
    let mut parts = vec![Parts::default(); stack.filters.len()];
    let mut created = |one: Created| {
        if let Some(parts) = parts.get_mut(one.operand) {
            parts.add(one);
        }
    };
    let filters = stack.filters.iter().map(Description::spec).collect();
    let meaning = Meaning::of_stack(filters, options.budget, &mut created);
    let mut meaning = meaning.map_err(|error| refused(error, parts))?;
    let compiled = compile::generate(&mut meaning, arches, options, &|| None, observe)?;
    Ok(Merged { compiled, syscalls_compared: meaning.examples() })
}

/// The error of a meaning; if a filter needs too many nodes, it names the syscalls that need most.
fn refused(MeaningError { operand, kind }: MeaningError, mut parts: Vec<Parts>) -> StackError {
    if let MeaningErrorKind::Notifies(verdict) = kind {
        return StackError { filter: operand, kind: StackErrorKind::Notifies(verdict) };
    }
    let own = operand.filter(|at| *at < parts.len()).map(|at| parts.swap_remove(at));
    let error = own.unwrap_or_default().named(CompileError::from(kind));
    StackError { filter: operand, kind: StackErrorKind::Compile(error) }
}
