//! The types of variables, as far as they change values: integers, structures and arrays.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::integer::Type;

/// The type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int(Type),
    Pointer,
    /// A structure, by its number.
    Record(usize),
    /// An array; `None` if its initializer has the number of elements.
    Array(Rc<Kind>, Option<usize>),
    /// A type that the text does not define.
    Other,
}

/// The most elements of an array, or members of a structure with all that they contain.
pub(super) const MAX_ELEMENTS: usize = 1 << 16;
/// How deep structures and arrays may be nested.
const MAX_NESTING: usize = 12;

/// The members of a structure.
#[derive(Clone, Debug)]
pub(super) struct Layout<'a> {
    pub(super) fields: Vec<(&'a str, Kind)>,
    is_union: bool,
    /// How many values it has.
    values: usize,
    depth: usize,
}

/// The structures and the names of types of a text.
#[derive(Default)]
pub(super) struct Records<'a> {
    layouts: Vec<Layout<'a>>,
    tags: HashMap<&'a str, usize>,
    /// The types that `typedef` names, unless they are integers.
    names: HashMap<&'a str, Kind>,
}

impl<'a> Records<'a> {
    pub(super) fn layout(&self, record: usize) -> Option<&Layout<'a>> {
        self.layouts.get(record).filter(|layout| !layout.is_union)
    }

    /// Enters a structure.
    pub(super) fn add(
        &mut self,
        tag: Option<&'a str>,
        fields: Vec<(&'a str, Kind)>,
        is_union: bool,
    ) -> Kind {
        let mut values = 0usize;
        let mut depth = 1;
        for (_, kind) in &fields {
            let (more, inner) = self.size(kind);
            values = values.saturating_add(more);
            depth = depth.max(inner + 1);
        }
        if values > MAX_ELEMENTS || depth > MAX_NESTING {
            return Kind::Other;
        }
        let record = self.layouts.len();
        self.layouts.push(Layout { fields, is_union, values, depth });
        if let Some(tag) = tag {
            self.tags.insert(tag, record);
        }
        Kind::Record(record)
    }

    /// The structure with a tag.
    pub(super) fn tagged(&self, tag: &str) -> Kind {
        self.tags.get(tag).map_or(Kind::Other, |record| Kind::Record(*record))
    }

    pub(super) fn define(&mut self, name: &'a str, kind: Kind) {
        self.names.insert(name, kind);
    }

    pub(super) fn named(&self, name: &str) -> Option<Kind> {
        self.names.get(name).cloned()
    }

    /// An array of this type, unless it is too large.
    pub(super) fn array(&self, element: Kind, length: Option<usize>) -> Kind {
        let (values, depth) = self.size(&element);
        let is_small = values.saturating_mul(length.unwrap_or(1)) <= MAX_ELEMENTS;
        match is_small && depth < MAX_NESTING {
            true => Kind::Array(Rc::new(element), length),
            false => Kind::Other,
        }
    }

    /// How many values a type has, and how deep they are nested.
    pub(super) fn size(&self, kind: &Kind) -> (usize, usize) {
        let (mut kind, mut factor, mut arrays) = (kind, 1usize, 0);
        while let Kind::Array(element, length) = kind {
            factor = factor.saturating_mul(length.unwrap_or(1).max(1));
            (kind, arrays) = (element, arrays + 1);
        }
        match kind {
            Kind::Record(record) => self.layouts.get(*record).map_or((factor, arrays), |layout| {
                (factor.saturating_mul(layout.values.max(1)), arrays + layout.depth)
            }),
            _ => (factor, arrays),
        }
    }

    /// The index and the type of a member.
    pub(super) fn field(&self, record: usize, name: &str) -> Option<(usize, &Kind)> {
        let fields = self.layout(record)?.fields.iter().enumerate();
        let mut found = fields.filter(|(_, (own, _))| *own == name);
        found.next().map(|(at, (_, kind))| (at, kind))
    }

    /// The type of what an index of a structure or an array is about.
    pub(super) fn inside<'k>(&'k self, kind: &'k Kind, index: usize) -> Option<&'k Kind> {
        match kind {
            Kind::Array(element, _) => Some(element),
            Kind::Record(record) => self.layout(*record)?.fields.get(index).map(|(_, kind)| kind),
            _ => None,
        }
    }

    /// The number of bytes of integers and pointers, and of arrays of these.
    pub(super) fn bytes(kind: &Kind, pointer: i128) -> Option<i128> {
        let (mut kind, mut factor) = (kind, 1i128);
        while let Kind::Array(element, length) = kind {
            factor = factor.checked_mul(i128::try_from((*length)?).ok()?)?;
            kind = element;
        }
        let one = match kind {
            Kind::Int(own) => own.size(),
            Kind::Pointer => pointer,
            _ => return None,
        };
        factor.checked_mul(one)
    }
}
