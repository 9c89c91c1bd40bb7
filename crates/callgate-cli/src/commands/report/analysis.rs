//! What the sections of a page are made of.

use callgate::Arch;
use callgate::explain::{self, Explanation};
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};
use callgate_html::sections::{Comparison, Subject};

use crate::report::Result;
use crate::source::{Combine, SourceStack};

/// The filters of a page as functions, with explanations: one, or those before and after a change.
pub(super) struct Analysis<'a> {
    pub(super) stacks: &'a [SourceStack],
    pub(super) store: Store,
    /// Per filter.
    roots: Vec<Func>,
    explanations: Vec<Explanation>,
}

impl<'a> Analysis<'a> {
    /// Analyses filters, of which there is at least one.
    pub(super) fn new(stacks: &'a [SourceStack]) -> Result<Analysis<'a>> {
        let mut store = Store::default();
        let roots = stacks.iter().map(|stack| stack.diagram(&mut store));
        let roots: Vec<Func> = roots.collect::<Result<_>>()?;
        // Those of the last filter come first: the page is about it.
        let mut arches: Vec<Arch> = Vec::new();
        for arch in stacks.iter().rev().flat_map(SourceStack::arches) {
            if !arches.contains(&arch) {
                arches.push(arch);
            }
        }
        let explanations =
            roots.iter().map(|root| explain::explain(&store, *root, &arches)).collect();
        Ok(Analysis { stacks, store, roots, explanations })
    }

    /// The filter that the page is about, and its function.
    pub(super) fn last(&self) -> Option<(&'a SourceStack, Func)> {
        Some((self.stacks.last()?, *self.roots.last()?))
    }

    /// The same for sections.
    pub(super) fn subject(&self) -> Option<Subject<'_>> {
        let (stack, root) = self.last()?;
        Some(Subject {
            name: &stack.name,
            explanation: self.explanations.last()?,
            checks_arch: self.store.top_word(root) == Some(Word::ARCH),
        })
    }

    /// The comparison, if there are two filters.
    pub(super) fn comparison(&self) -> Option<Comparison> {
        let ([before, after], [a, b], [from, to]) =
            (self.stacks, self.roots.as_slice(), self.explanations.as_slice())
        else {
            return None;
        };
        let names = [before.name.as_str(), after.name.as_str()];
        Some(Comparison::new(&self.store, [*a, *b], [from, to], names))
    }
}
