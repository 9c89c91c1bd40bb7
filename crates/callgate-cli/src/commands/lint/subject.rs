//! Filters as lint checks them.

use callgate::lint::Subject;

use crate::source::{Filter, FilterContent};

/// A filter with the rules and warnings that were kept.
pub(crate) fn subject(filter: &Filter) -> Subject<'_> {
    match &filter.content {
        FilterContent::Profile(rules) => Subject::new(&rules.policy)
            .with_statements(rules.statements.as_ref())
            .with_warnings(&rules.warnings),
        FilterContent::Program { program, endian, .. } => Subject::program(program, *endian),
    }
}
