//! The comparison with another filter.

use callgate::Arch;
use callgate::explain::explain;
use callgate_requests::source::{Messages, SourceText, read};

use super::filter::Shown;
use crate::sections::{Comparison, Subject, comparison, map};
use crate::web::analysis::Analysis;

/// What changed from `before` to the filter; adds warnings.
///
/// # Errors
/// All messages about the other source, or that the filters cannot be compared.
pub(crate) fn compare(
    analysis: &mut Analysis<'_>,
    before: &SourceText,
    warnings: &mut Messages,
) -> Result<Shown, Messages> {
    let other = read(before, warnings)?;
    other.check_byte_order(&analysis.stack)?;
    let root = analysis.root;
    let store = &mut analysis.store;
    let old = other.combined_diagram(store, warnings)?;
    let mut arches: Vec<Arch> = analysis.arches.clone();
    arches.extend(other.arches().into_iter().filter(|arch| !analysis.arches.contains(arch)));
    let explanations = [old, root].map(|root| explain(store, root, &arches));
    let [from, to] = &explanations;
    let names = [other.name.as_str(), analysis.stack.name.as_str()];
    let compared = Comparison::new(store, [old, root], [from, to], names);
    let mut sections = vec![comparison(&compared)];
    if old != root {
        let subject = Subject { explanation: to, ..analysis.subject() };
        sections.push(map(&subject, Some(&compared)));
    }
    Ok(Shown { status: compared.relation().to_owned(), ..Shown::of(sections) })
}
