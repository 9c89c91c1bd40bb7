//! A filter with everything that its explanation shows.

use callgate::Verdict;
use callgate::explain::{self, Explanation};
use callgate::lint::{self, Finding, Subject};
use callgate_core::Word;
use callgate_core::diagram::Store;
use callgate_requests::explanation::keep_only;

use super::args::{By, ExplainArgs};
use crate::commands::rule_places::RulePlaces;
use crate::report::{Failure, Result};
use crate::source::{Combine, Filter, Stack};

/// What `explain` shows.
pub(super) struct Explained<'s> {
    /// The name of the source.
    pub(super) name: &'s str,
    pub(super) explanation: Explanation,
    /// Whether it contains all syscalls, not only those of the command line.
    pub(super) is_whole: bool,
    /// The options that decide whether conditions of the profile hold, if it has any.
    pub(super) conditions: Option<String>,
    /// Whether the filter compares the architecture.
    checks_arch: bool,
    /// Where a multiplexer or another ABI permits what the filter denies.
    pub(super) notes: Vec<Finding>,
    /// The rules of the profile, if they were asked for.
    pub(super) places: Option<RulePlaces<'s>>,
    pub(super) by: By,
}

/// What happens to syscalls of architectures without a table.
pub(super) enum OtherArches {
    Always(Verdict),
    Depends,
    /// The filter does not compare the architecture.
    NotChecked,
}

impl<'s> Explained<'s> {
    pub(super) fn new(stack: &'s Stack, args: &ExplainArgs) -> Result<Explained<'s>> {
        let mut store = Store::default();
        let root = stack.diagram(&mut store)?;
        let arches = stack.arches();
        let mut explanation = explain::explain(&store, root, &arches);
        if !args.calls.is_empty() {
            keep_only(&mut explanation, &args.calls)?;
        }
        let subjects: Vec<Subject<'_>> = stack.filters.iter().map(Filter::subject).collect();
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
            explanation,
            is_whole: args.calls.is_empty(),
            conditions: stack
                .filters
                .iter()
                .any(Filter::is_conditional)
                .then(|| args.reading.conditions()),
            checks_arch: store.top_word(root) == Some(Word::ARCH),
            notes,
            places: args.why.then(|| RulePlaces::of(stack)),
            by: args.by(),
        })
    }

    pub(super) fn other_arches(&self) -> OtherArches {
        match self.explanation.other_arches {
            Some(verdict) => OtherArches::Always(verdict),
            None if self.checks_arch => OtherArches::Depends,
            None => OtherArches::NotChecked,
        }
    }
}

/// A note as a line of text, with its architecture.
pub(super) fn note(finding: &Finding) -> String {
    let arches: Vec<&str> = finding.arches.iter().map(|arch| arch.name()).collect();
    // The message may name it.
    match arches.as_slice() {
        [arch] if !finding.message.contains(arch) => format!("{arch}: {}", finding.message),
        [_, _, ..] => format!("{}: {}", arches.join(", "), finding.message),
        _ => finding.message.clone(),
    }
}
