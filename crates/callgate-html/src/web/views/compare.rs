//! The comparison with another filter.

use callgate::explain::explain;
use callgate::{Arch, sets};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_requests::source::{Message, Messages, SourceText, read};

use super::filter::Shown;
use crate::Section;
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
    let failed = |message: String| Message::about(&before.name, Diagnostic::error(None, message));
    let other = read(before, warnings)?;
    other.check_byte_order(&analysis.stack)?;
    let root = analysis.root;
    let store = &mut analysis.store;
    let old = other.combined_diagram(store, warnings)?;
    let mut arches: Vec<Arch> = analysis.arches.clone();
    arches.extend(other.arches().into_iter().filter(|arch| !analysis.arches.contains(arch)));
    let complex = |error: DiagramError| vec![failed(error.to_string())];
    let order = relation(store, old, root).map_err(complex)?;
    let explanations = [old, root].map(|root| explain(store, root, &arches));
    let [from, to] = &explanations;
    let names = [other.name.as_str(), analysis.stack.name.as_str()];
    let compared = Comparison::new(store, [old, root], [from, to], names);
    let result = Section::new("order", "Result", |body| body.headline(order));
    let mut sections = vec![result, comparison(&compared)];
    if old != root {
        let subject = Subject { explanation: to, ..analysis.subject() };
        sections.push(map(&subject, Some(&compared)));
    }
    Ok(Shown { status: order.to_owned(), ..Shown::of(sections) })
}

/// How a filter relates to the one before. Permitted is what ALLOW and LOG permit; which action denies the rest makes a
/// filter neither stricter nor less strict.
fn relation(store: &mut Store, old: Func, new: Func) -> Result<&'static str, DiagramError> {
    if old == new {
        return Ok("Both filters do the same.");
    }
    let (before, after) = (sets::permitted(store, old)?, sets::permitted(store, new)?);
    let both = store.highest_precedence(before, after)?;
    Ok(match (both == before, both == after) {
        (true, true) => {
            "Both filters permit the same syscalls, but have different actions for some."
        }
        (false, true) => "Stricter: the filter permits less than the other one, and nothing more.",
        (true, false) => "Less strict: the filter permits all that the other one does, and more.",
        (false, false) => "Each filter permits syscalls that the other one does not.",
    })
}
