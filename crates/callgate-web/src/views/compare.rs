//! The comparison with another filter.

use callgate::diagnostic::Diagnostic;
use callgate::diagram::DiagramError;
use callgate::explain::explain;
use callgate::{Arch, sets};
use callgate_html::Section;
use callgate_html::sections::{Comparison, Subject, comparison, map};
use callgate_requests::source::{Message, Messages, SourceText, read};

use super::shown::Shown;
use crate::analysis::Analysis;

/// What changed from `before` to the filter; adds warnings.
///
/// # Errors
/// All messages about the other source, or that the filters cannot be compared.
pub(crate) fn compare(
    analysis: &mut Analysis<'_>,
    before: &SourceText,
    warnings: &mut Messages,
) -> Result<Shown, Messages> {
    let failed = |message: String| Message::about(&before.name, Diagnostic::error(None, message));
    let other = read(before, warnings)?;
    if other.endian() != analysis.endian {
        let message = "the filters are for machines with different byte orders";
        return Err(vec![failed(message.to_owned())]);
    }
    let root = analysis.root;
    let store = &mut analysis.store;
    let old = other.diagram(store)?;
    let mut arches: Vec<Arch> = analysis.arches.clone();
    arches.extend(other.arches().into_iter().filter(|arch| !analysis.arches.contains(arch)));
    let complex = |error: DiagramError| vec![failed(error.to_string())];
    let is_stricter = sets::not_in_func(store, root, old, 1).map_err(complex)?.is_empty();
    let is_laxer = sets::not_in_func(store, old, root, 1).map_err(complex)?.is_empty();
    let explanations = [old, root].map(|root| explain(store, root, &arches));
    let [from, to] = &explanations;
    let names = [other.name.as_str(), analysis.stack.name.as_str()];
    let compared = Comparison::new(store, [old, root], [from, to], names);
    let order = match (old == root, is_stricter, is_laxer) {
        (true, ..) => "Both filters do the same.",
        (_, true, true) => "Both permit the same syscalls, and deny in different ways.",
        (_, true, false) => "Stricter: the filter permits nothing that the other one does not.",
        (_, false, true) => {
            "Less strict: the filter permits all that the other one does, and more."
        }
        (_, false, false) => "Each filter permits syscalls that the other one does not.",
    };
    let relation = Section::new("order", "Result", |body| {
        body.leaf("p", &[("class", "headline")], order);
    });
    let mut sections = vec![relation, comparison(&compared)];
    if old != root {
        let subject = Subject { explanation: to, ..analysis.subject() };
        sections.push(map(&subject, Some(&compared)));
    }
    Ok(Shown { status: order.to_owned(), ..Shown::of(sections) })
}
