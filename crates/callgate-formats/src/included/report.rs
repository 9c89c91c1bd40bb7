//! Messages about the policy and its included files.
//!
//! A message about an included file has the position of the outermost directive, and names the file with line and
//! column. Positions are computed at the end, once per text.

use std::collections::HashMap;

use super::sources::{Place, Sources};
use crate::diagnostics::messages::{LIMIT, Messages};
use crate::diagnostics::positions::Positions;
use crate::diagnostics::quote::without_quotes;
use crate::diagnostics::suggestions::Suggestions;
use crate::statements::Site;
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};

/// Stands for another place in a message.
pub(crate) const OTHER: char = '\u{1}';

/// Messages without positions.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    kept: Vec<Report>,
    warnings: usize,
    errors: usize,
    suggestions: Suggestions,
    /// Whether known words may be private.
    is_without_suggestions: bool,
    left_out: Option<Diagnostic>,
}

#[derive(Debug)]
struct Report {
    at: Place,
    /// What [`OTHER`] stands for.
    other: Option<Place>,
    message: Diagnostic,
}

impl Reports {
    pub(crate) fn error(&mut self, at: Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(at, None, Diagnostic::error(None, message))
    }

    /// An error with another place, for which [`OTHER`] stands.
    pub(crate) fn error_with(
        &mut self,
        at: Place,
        other: Place,
        message: String,
    ) -> &mut Diagnostic {
        self.add(at, Some(other), Diagnostic::error(None, message))
    }

    pub(crate) fn warn(&mut self, at: Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(at, None, Diagnostic::warning(None, message))
    }

    /// A warning with another place, for which [`OTHER`] stands.
    pub(crate) fn warn_with(
        &mut self,
        at: Place,
        other: Place,
        message: String,
    ) -> &mut Diagnostic {
        self.add(at, Some(other), Diagnostic::warning(None, message))
    }

    /// The known word that is most similar to an unknown one, from a search that is made for the first unknown words only.
    pub(crate) fn nearest<T>(&mut self, search: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.is_without_suggestions {
            return None;
        }
        self.suggestions.find(search)
    }

    /// Makes no more suggestions, as known words may come from a text that must not be quoted.
    pub(crate) fn stop_suggestions(&mut self) {
        self.is_without_suggestions = true;
    }

    /// Whether no more errors are kept, so that their texts do not matter.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= LIMIT
    }

    pub(crate) fn failed(&self) -> bool {
        self.errors > 0
    }

    fn add(&mut self, at: Place, other: Option<Place>, message: Diagnostic) -> &mut Diagnostic {
        let count = match message.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count > LIMIT {
            return self.left_out.insert(message);
        }
        let index = self.kept.len();
        self.kept.push(Report { at, other, message });
        match self.kept.get_mut(index) {
            Some(report) => &mut report.message,
            None => self.left_out.get_or_insert_with(|| Diagnostic::warning(None, "")),
        }
    }

    /// The messages with their positions.
    pub(crate) fn finish(self, sources: &Sources) -> Vec<Diagnostic> {
        let mut places: Vec<Place> = Vec::new();
        for report in &self.kept {
            places.extend([report.at, sources.outermost(report.at)]);
            places.extend(report.other);
        }
        let known = positions(sources, places);
        let start = Position { line: 1, column: 1 };
        let of = |place: Place| known.get(&place).copied().unwrap_or(start);
        let show = |place: Place| {
            let Position { line, column } = of(place);
            match sources.name(place.source) {
                Some(name) => format!("{name}:{line}:{column}"),
                None => format!("{line}:{column}"),
            }
        };
        let mut messages = Messages::new();
        for Report { at, other, mut message } in self.kept {
            if sources.is_private(at.source) {
                message = without_quotes(message);
            }
            let mut text = message.message;
            if let Some(other) = other {
                text = text.replacen(OTHER, &show(other), 1);
            }
            if sources.name(at.source).is_some() {
                text = format!("in {}: {text}", show(at));
            }
            let shown = messages.report_at(message.severity, || of(sources.outermost(at)), text);
            (shown.help, shown.topic) = (message.help, message.topic);
        }
        for (count, severity) in
            [(self.warnings, Severity::Warning), (self.errors, Severity::Error)]
        {
            // Only their number is kept.
            for _ in LIMIT..count {
                messages.report_at(severity, || start, "");
            }
        }
        messages.finish()
    }
}

/// The places as sites, in this order.
pub(crate) fn sites(sources: &Sources, places: &[Place]) -> Vec<Site> {
    let known = positions(sources, places.to_vec());
    let start = Position { line: 1, column: 1 };
    let site = |place: &Place| Site {
        file: sources.name(place.source).map(str::to_owned),
        position: known.get(place).copied().unwrap_or(start),
    };
    places.iter().map(site).collect()
}

/// The positions of places. Those in one text are looked up together, so that only one text is indexed at a time.
fn positions(sources: &Sources, mut places: Vec<Place>) -> HashMap<Place, Position> {
    places.sort_unstable();
    places.dedup();
    let mut known = HashMap::new();
    let mut current: Option<(u16, Positions<'_>)> = None;
    for place in places {
        if current.as_ref().is_none_or(|(source, _)| *source != place.source) {
            let text = sources.get(place.source).map_or("", |source| &source.text);
            current = Some((place.source, Positions::new(text)));
        }
        if let Some((_, table)) = &current {
            known.insert(place, table.of(place.offset as usize));
        }
    }
    known
}
