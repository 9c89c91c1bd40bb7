//! Merging a stack into one program.

use super::definition::Stack;
use super::error::{StackError, StackErrorKind};
use crate::compile::{self, CompileError, Compiled, Options, Phase};
use callgate_bpf::data::SeccompData;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::{Action, Verdict};
use callgate_proof::Meaning;
use callgate_proof::diagram::{Func, Store};

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
    let mut examples = Vec::new();
    let build = |store: &mut Store| meaning(store, stack, &mut examples);
    let mut meaning = Meaning::build(options.budget, stack.endian, build)?;
    let compiled = compile::generate(&mut meaning, arches, options, &|| None, observe)?;
    for data in &examples {
        if compiled.program.run(data, stack.endian).verdict != stack.run(data) {
            return Err(CompileError::not_equal(*data).into());
        }
    }
    Ok(Merged { compiled, syscalls_compared: examples.len() })
}

/// The function of a stack, computed as in the kernel's loop: newest filter first. Adds to `examples` a syscall for each
/// combination of verdicts.
fn meaning(
    store: &mut Store,
    stack: &Stack<'_>,
    examples: &mut Vec<SeccompData>,
) -> Result<Func, StackError> {
    let mut kept = store.verdict(Verdict::ALLOW)?;
    for (at, filter) in stack.filters.iter().enumerate().rev() {
        let of_filter = |kind| StackError { filter: Some(at), kind };
        let next =
            filter.diagram(store).map_err(|error| of_filter(StackErrorKind::Compile(error)))?;
        let asks = |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_));
        if let Some(verdict) = store.verdicts(next).into_iter().find(asks) {
            return Err(of_filter(StackErrorKind::Notifies(verdict)));
        }
        let result = store.highest_precedence(kept, next)?;
        examples.extend(check_iteration(store, [kept, next, result])?);
        kept = result;
    }
    Ok(kept)
}

/// Checks one iteration of the loop (current function, next filter, result) for every combination of verdicts, which is a
/// proof. Returns a syscall for each combination.
pub(super) fn check_iteration(
    store: &mut Store,
    funcs: [Func; 3],
) -> Result<Vec<SeccompData>, CompileError> {
    let mut examples = Vec::new();
    for ([kept, next, result], data) in store.verdict_combinations(funcs)? {
        if result != kept.or_higher_precedence(next) {
            return Err(CompileError::not_equal(data));
        }
        examples.push(data);
    }
    Ok(examples)
}
