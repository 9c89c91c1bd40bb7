//! Policies that consist of several files: the files that they include, places in them, and messages with both.
//!
//! A reader does no I/O, so included files come from a function that the caller gives. A message about an included file has the
//! position of the outermost directive, and names the file with line and column.

use std::collections::HashMap;
use std::rc::Rc;

use crate::diagnostics::messages::{LIMIT, Messages, Suggestions, result_of};
use crate::diagnostics::positions::Positions;
use crate::diagnostics::quote::{shorten, without_quotes};
use crate::statements::{Site, Statement, Statements};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position, Severity, Topic};
use callgate_core::policy::Condition;
use callgate_core::{Arch, Verdict};

/// A file that a policy includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its name in messages.
    pub name: String,
    /// Tells it from other files, whatever their names are: for example device and inode. A file with the same identity
    /// may not be included by it.
    pub identity: String,
    /// Its text.
    pub text: String,
    /// Whether messages must not quote the text: it is not a part of what the author of the policy gave to be read, so
    /// readers of the messages may not be allowed to see it.
    pub is_private: bool,
}

/// Finds included files: given the name in the directive, and the name of the file with the directive (`None` for the
/// policy itself), returns the file, or why it cannot be read.
pub type Includes<'a> = dyn FnMut(&str, Option<&str>) -> Result<Included, String> + 'a;

/// Finds no file: for policies without included files.
pub(crate) fn no_files(_: &str, _: Option<&str>) -> Result<Included, String> {
    Err("files cannot be included here".to_owned())
}

/// A byte offset in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) source: u16,
    pub(crate) offset: u32,
}

/// A part of one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: Place,
    pub(crate) len: u32,
}

/// A text.
#[derive(Debug)]
pub(crate) struct Source {
    /// The name of an included file; `None` for the policy itself.
    pub(crate) name: Option<String>,
    /// What tells it from others; `None` if that is not known, which is possible for the policy itself only.
    pub(crate) identity: Option<String>,
    pub(crate) text: Rc<str>,
    /// The directive that includes it.
    included_at: Option<Place>,
    /// Whether messages must not quote it.
    pub(crate) is_private: bool,
}

/// All texts; the first is the policy.
#[derive(Debug)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    pub(crate) fn new(text: &str, identity: Option<&str>) -> Sources {
        Sources(vec![Source {
            name: None,
            identity: identity.map(str::to_owned),
            text: text.into(),
            included_at: None,
            is_private: false,
        }])
    }

    /// Adds an included file and returns its number. The caller limits their number.
    pub(crate) fn add(&mut self, file: Included, included_at: Place) -> u16 {
        let Included { name, identity, text, is_private } = file;
        self.0.push(Source {
            name: Some(name),
            identity: Some(identity),
            text: text.into(),
            included_at: Some(included_at),
            is_private,
        });
        u16::try_from(self.0.len() - 1).unwrap_or(u16::MAX)
    }

    pub(crate) fn get(&self, source: u16) -> Option<&Source> {
        self.0.get(usize::from(source))
    }

    /// Whether messages must not quote a text.
    pub(crate) fn is_private(&self, source: u16) -> bool {
        self.get(source).is_some_and(|source| source.is_private)
    }

    pub(crate) fn name(&self, source: u16) -> Option<&str> {
        self.get(source)?.name.as_deref()
    }

    /// The text of a part.
    pub(crate) fn text(&self, span: Span) -> &str {
        let text = self.get(span.at.source).map_or("", |source| &source.text);
        let start = span.at.offset as usize;
        text.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// The place in the policy itself that leads to a place: the place, or the directive that includes its file.
    fn outermost(&self, mut place: Place) -> Place {
        // An included file comes after the file that includes it, so this ends.
        while let Some(at) = self.get(place.source).and_then(|source| source.included_at) {
            place = at;
        }
        place
    }
}

/// The maximum number of inclusions.
const MAX_INCLUSIONS: usize = 1000;

/// The maximum size of a policy with all included files, in bytes.
const MAX_TEXT: usize = 10 << 20;

/// Refuses a policy that is too large even without included files.
pub(crate) fn check_text_size(text: &str) -> Result<(), Diagnostic> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let message = format!("the policy has {} bytes, the maximum is {MAX_TEXT}", text.len());
    Err(Diagnostic::error(None, message).help("split the policy").topic(Topic::TooLarge))
}

/// Counts the inclusions of a policy and their bytes.
pub(crate) struct Inclusions {
    count: usize,
    bytes: usize,
    max_depth: usize,
}

/// An included file.
pub(crate) enum Opened {
    /// Its number in the sources.
    Source(u16),
    /// It cannot be read. An error was reported.
    Nothing,
    /// A limit is exceeded, so that reading must end: messages about the text that is missing would not help. An error
    /// was reported.
    Stop,
}

impl Inclusions {
    /// For a policy of this size, whose inclusions may nest this deep.
    pub(crate) fn new(bytes: usize, max_depth: usize) -> Inclusions {
        Inclusions { count: 0, bytes, max_depth }
    }

    /// Opens the file that a directive at this place names; `open` are the texts that are being read, the innermost last.
    pub(crate) fn open(
        &mut self,
        name: &str,
        at: Place,
        open: &[u16],
        includes: &mut Includes<'_>,
        sources: &mut Sources,
        reports: &mut Reports,
    ) -> Opened {
        let shown = shorten(name);
        let mut stop = |message: String, help: &str| {
            reports.error(at, message).set_too_large(help);
            Opened::Stop
        };
        self.count += 1;
        if self.count > MAX_INCLUSIONS {
            let message = format!("more than {MAX_INCLUSIONS} files are included");
            return stop(message, "include fewer files");
        }
        let from = open.last().and_then(|source| sources.name(*source));
        let file = match includes(name, from) {
            Ok(file) => file,
            Err(why) => {
                reports.error(at, format!("cannot include \"{shown}\": {why}"));
                return Opened::Nothing;
            }
        };
        let same = open.iter().rev().filter_map(|source| sources.get(*source));
        let mut same = same.filter(|source| source.identity.as_ref() == Some(&file.identity));
        if let Some(again) = same.next() {
            match again.included_at {
                Some(first) => {
                    let message =
                        format!("\"{shown}\" includes itself; it is included first at {OTHER}");
                    reports.error_with(at, first, message).help =
                        "remove one of the two directives".to_owned();
                }
                None => {
                    let message = format!("\"{shown}\" includes itself; it is the policy itself");
                    reports.error(at, message).help = "remove this directive".to_owned();
                }
            }
            return Opened::Nothing;
        }
        if open.len() > self.max_depth {
            let message = format!("inclusions are nested more than {} deep", self.max_depth);
            return stop(message, "include the files from one file");
        }
        self.bytes = self.bytes.saturating_add(file.text.len());
        if self.bytes > MAX_TEXT {
            let message = format!(
                "with \"{shown}\" the policy has {} bytes, the maximum is {MAX_TEXT}",
                self.bytes
            );
            return stop(message, "include smaller files");
        }
        if file.is_private {
            // A file that it includes may be part of the policy again, but names in messages may come from it.
            reports.stop_suggestions();
        }
        Opened::Source(sources.add(file, at))
    }
}

// Messages about the policy and its included files.
//
// A message about an included file has the position of the outermost directive, and names the file with line and
// column. Positions are computed at the end, once per text.

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
    fn stop_suggestions(&mut self) {
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

    /// What was read with the warnings about it, or all messages if one is an error. Without an error, there is a value.
    pub(crate) fn end<T>(
        self,
        sources: &Sources,
        value: Option<T>,
    ) -> Result<(T, Vec<Diagnostic>), Diagnostics> {
        let failed = self.failed();
        result_of(value, failed, self.finish(sources))
    }

    /// The messages with their positions.
    fn finish(self, sources: &Sources) -> Vec<Diagnostic> {
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
            shown.advice = message.advice;
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

/// A rule with its place.
pub(crate) struct Stated {
    pub(crate) at: Span,
    pub(crate) arch: Arch,
    pub(crate) nr: u32,
    pub(crate) when: Condition,
    pub(crate) verdict: Verdict,
}

/// The statements of these rules, and the place of the default action.
pub(crate) fn statements(
    sources: &Sources,
    rules: Vec<Stated>,
    default: Option<Place>,
) -> Statements {
    let places: Vec<Place> = rules.iter().map(|rule| rule.at.at).chain(default).collect();
    let mut sites = sites(sources, &places);
    let default = default.and_then(|_| sites.pop());
    let rule = |(rule, site): (Stated, _)| {
        let Stated { at, arch, nr, when, verdict } = rule;
        Statement { site, name: sources.text(at).to_owned(), arch, nr, when, verdict }
    };
    let rules = rules.into_iter().zip(sites).map(rule).collect();
    Statements { rules, default, ..Statements::default() }
}
