//! The texts of a policy and its included files, and places in them.

use std::rc::Rc;

use super::source::Included;

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
    pub(crate) included_at: Option<Place>,
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
    pub(crate) fn outermost(&self, mut place: Place) -> Place {
        // An included file comes after the file that includes it, so this ends.
        while let Some(at) = self.get(place.source).and_then(|source| source.included_at) {
            place = at;
        }
        place
    }
}
