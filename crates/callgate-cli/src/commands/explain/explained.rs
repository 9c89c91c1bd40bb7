//! A filter with everything that its explanation shows.

use callgate::explain::{self, Explanation, Order};
use callgate::lint::{self, Finding, Subject};
use callgate_core::diagram::Store;
use callgate_requests::explanation::keep_only;

use super::args::ExplainArgs;
use crate::commands::rule_places::RulePlaces;
use crate::report::{Failure, Result};
use crate::source::{Combine, SourceFilter, SourceStack};

/// What `explain` shows.
pub(super) struct Explained<'s> {
    /// The name of the source.
    pub(super) name: &'s str,
    pub(super) explanation: Explanation,
    /// Whether it contains all syscalls, not only those of the command line.
    pub(super) is_whole: bool,
    /// The options that decide whether conditions of the profile hold, if it has any.
    pub(super) conditions: Option<String>,
    /// Whether they say which libseccomp reads it; otherwise, one that knows all names.
    pub(super) gives_libseccomp: bool,
    /// What is assumed about the program that reads the source.
    pub(super) assumed: Option<String>,
    /// Where a multiplexer or another ABI permits what the filter denies.
    pub(super) notes: Vec<Finding>,
    /// The rules of the profile, if they were asked for.
    pub(super) places: Option<RulePlaces<'s>>,
    pub(super) order: Order,
}

impl<'s> Explained<'s> {
    pub(super) fn new(
        stack: &'s SourceStack,
        assumed: Option<String>,
        args: &ExplainArgs,
    ) -> Result<Explained<'s>> {
        let mut store = Store::default();
        let root = stack.diagram(&mut store)?;
        let arches = stack.arches();
        let mut explanation = explain::explain(&store, root, &arches);
        if !args.calls.is_empty() {
            keep_only(&mut explanation, &args.calls)?;
        }
        let subjects: Vec<Subject<'_>> = stack.filters.iter().map(SourceFilter::subject).collect();
        let mut notes = lint::evasions(&subjects, &arches)
            .map_err(|error| Failure::about(&stack.name, error.to_string()))?;
        if !args.calls.is_empty() {
            let shown: Vec<&str> = explanation
                .arches
                .iter()
                .flat_map(|arch| &arch.groups)
                .flat_map(|group| group.syscalls.iter().map(|(_, name)| *name))
                .collect();
            notes.retain(|note| note.syscalls.iter().any(|name| shown.contains(name)));
        }
        Ok(Explained {
            name: &stack.name,
            explanation: explanation.with_notes(&notes),
            is_whole: args.calls.is_empty(),
            conditions: stack
                .filters
                .iter()
                .any(|filter| filter.conditional_names().next().is_some())
                .then(|| args.reading.conditions()),
            gives_libseccomp: args.reading.given_libseccomp().is_some(),
            assumed,
            notes,
            places: args.why.then(|| RulePlaces::of(stack)),
            order: args.order(),
        })
    }
}
