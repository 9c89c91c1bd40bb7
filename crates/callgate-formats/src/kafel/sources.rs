//! The texts of a policy and its included files, and places in them.

use std::rc::Rc;

/// A byte offset in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) source: u16,
    pub(super) offset: u32,
}

/// A part of one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: Place,
    pub(super) len: u32,
}

/// A text.
#[derive(Debug)]
pub(super) struct Source {
    /// The name of an included file; `None` for the policy itself.
    pub(super) name: Option<String>,
    pub(super) text: Rc<str>,
    /// The directive that includes it.
    pub(super) included_at: Option<Place>,
}

/// All texts; the first is the policy.
#[derive(Debug)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    pub(super) fn new(text: &str) -> Sources {
        Sources(vec![Source { name: None, text: text.into(), included_at: None }])
    }

    /// Adds an included file and returns its number. The caller limits their number.
    pub(super) fn add(&mut self, name: String, text: &str, included_at: Place) -> u16 {
        self.0.push(Source { name: Some(name), text: text.into(), included_at: Some(included_at) });
        u16::try_from(self.0.len() - 1).unwrap_or(u16::MAX)
    }

    pub(super) fn get(&self, source: u16) -> Option<&Source> {
        self.0.get(usize::from(source))
    }

    pub(super) fn name(&self, source: u16) -> Option<&str> {
        self.get(source)?.name.as_deref()
    }

    /// The text of a part.
    pub(super) fn text(&self, span: Span) -> &str {
        let text = self.get(span.at.source).map_or("", |source| &source.text);
        let start = span.at.offset as usize;
        text.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// The place in the policy itself that leads to a place: the place, or the directive that includes its file.
    pub(super) fn outermost(&self, mut place: Place) -> Place {
        // An included file comes after the file that includes it, so this ends.
        while let Some(at) = self.get(place.source).and_then(|source| source.included_at) {
            place = at;
        }
        place
    }
}
