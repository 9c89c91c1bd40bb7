//! A filter, and what sections show of it.

use callgate::codegen::Weights;
use callgate::compile::{Compiled, Options};
use callgate::diagram::{Func, Store};
use callgate::explain::{self, Explanation};
use callgate::{Arch, Endian, Word};
use callgate_html::sections::Subject;
use callgate_requests::source::{Messages, SourceText, Stack, read};

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
        let (arches, endian) = (stack.arches(), stack.endian());
        let mut store = Store::default();
        let root = stack.diagram(&mut store)?;
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
            callgate_requests::source::SourceContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How often syscalls occur according to the source.
    pub(crate) fn own_weights(&self) -> Option<&Weights> {
        own_weights(&self.stack)
    }
}

fn own_weights(stack: &Stack) -> Option<&Weights> {
    match stack.filters.as_slice() {
        [only] => only.weights.as_ref(),
        _ => None,
    }
}
