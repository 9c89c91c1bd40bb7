//! A filter, and what sections show of it.

use crate::sections::Subject;
use callgate::compile::{Compiled, Options};
use callgate::explain::{self, Explanation};
use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::Weights;
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};
use callgate_requests::source::{
    FilterContent, Message, Messages, SourceContent, SourceText, Stack, read,
};

/// A filter that was read, as a function, with its explanation and its program.
pub(crate) struct Analysis<'s> {
    pub(crate) source: &'s SourceText,
    pub(crate) stack: Stack,
    pub(crate) arches: Vec<Arch>,
    pub(crate) endian: Endian,
    pub(crate) store: Store,
    pub(crate) root: Func,
    pub(crate) explanation: Explanation,
    /// Or why there is none.
    pub(crate) compiled: Result<Compiled, Messages>,
}

impl<'s> Analysis<'s> {
    /// Reads and analyses a source; adds warnings.
    ///
    /// # Errors
    /// All messages about the source, without these warnings. That there is no program is not an error.
    pub(crate) fn new(
        source: &'s SourceText,
        warnings: &mut Messages,
    ) -> Result<Analysis<'s>, Messages> {
        let stack = read(source, warnings)?;
        check_variables(&stack)?;
        let (arches, endian) = (stack.arches(), stack.endian());
        let mut store = Store::default();
        let root = stack.combined_diagram(&mut store, warnings)?;
        let explanation = explain::explain(&store, root, &arches);
        let weights = own_weights(&stack).cloned().unwrap_or_else(Weights::uniform);
        let compiled = stack.compile(&Options { weights, ..Options::default() });
        Ok(Analysis { source, stack, arches, endian, store, root, explanation, compiled })
    }

    /// The filter for sections.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            name: &self.stack.name,
            explanation: &self.explanation,
            checks_arch: self.store.top_word(self.root) == Some(Word::ARCH),
        }
    }

    /// The text of the source, if it is one.
    pub(crate) fn text(&self) -> Option<&'s str> {
        match &self.source.content {
            SourceContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How often syscalls occur according to the source.
    pub(crate) fn own_weights(&self) -> Option<&Weights> {
        own_weights(&self.stack)
    }
}

/// Refuses a policy whose variables have no values: no view shows one.
fn check_variables(stack: &Stack) -> Result<(), Messages> {
    for filter in &stack.filters {
        let FilterContent::Policy(policy) = &filter.content else { continue };
        let names: Vec<&str> = policy.variables().iter().map(|variable| variable.name()).collect();
        let Some(first) = names.first() else { continue };
        let message = format!("variables without values: {}", names.join(", "));
        let help =
            format!("give their values in the field Variables of the options, such as {first}=1");
        return Err(vec![Message::about(
            &filter.name,
            Diagnostic::error(None, message).help(help),
        )]);
    }
    Ok(())
}

fn own_weights(stack: &Stack) -> Option<&Weights> {
    match stack.filters.as_slice() {
        [only] => only.weights.as_ref(),
        _ => None,
    }
}
