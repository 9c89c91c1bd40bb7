//! The variables of a program that runs.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::datum::{Datum, Place, Unknown, Why};
use super::kinds::{Kind, Records};

/// The most variables.
pub(super) const MAX_OBJECTS: usize = 200_000;

/// A variable.
#[derive(Clone, Debug)]
pub(super) struct Object<'a> {
    pub(super) value: Datum<'a>,
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    pub(super) is_const: bool,
    /// Why its value is not known any more, because a function outside the text may change it at any time.
    lost: Option<Unknown<'a>>,
}

impl<'a> Object<'a> {
    pub(super) fn new(value: Datum<'a>, kind: Kind, name: &'a str, is_const: bool) -> Self {
        Object { value, kind, name, is_const, lost: None }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Memory<'a> {
    pub(super) objects: Vec<Object<'a>>,
}

impl<'a> Memory<'a> {
    /// A new variable; its index.
    pub(super) fn add(&mut self, object: Object<'a>) -> usize {
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// The value at a place; `None` if there is none.
    pub(super) fn read(&self, place: &Place) -> Option<Datum<'a>> {
        let object = self.objects.get(place.object)?;
        if let Some(lost) = object.lost {
            return Some(Datum::Unknown(lost));
        }
        let mut value = &object.value;
        for index in &place.path {
            value = match value {
                Datum::Unknown(_) => return Some(value.clone()),
                _ => value.parts()?.get(*index)?,
            };
        }
        Some(value.clone())
    }

    /// The type of a place.
    pub(super) fn kind(&self, records: &Records<'a>, place: &Place) -> Kind {
        let mut kind = self.objects.get(place.object).map(|object| &object.kind);
        for index in &place.path {
            kind = kind.and_then(|kind| records.inside(kind, *index));
        }
        kind.cloned().unwrap_or(Kind::Other)
    }

    /// Changes the value at a place. Returns how many values were copied for it.
    pub(super) fn write(&mut self, place: &Place, value: Datum<'a>) -> usize {
        let Some(object) = self.objects.get_mut(place.object) else { return 0 };
        let name = object.name;
        let mut copied = 0;
        let mut at = &mut object.value;
        for index in &place.path {
            let Some(parts) = at.parts_mut() else { return copied };
            if Rc::strong_count(parts) > 1 {
                copied += parts.len();
            }
            let parts = Rc::make_mut(parts);
            if *index >= parts.len() {
                // Outside of the array: anything may have changed.
                object.value = Datum::unknown(Why::Changed(name));
                return copied;
            }
            let Some(part) = parts.get_mut(*index) else { return copied };
            at = part;
        }
        *at = value;
        copied
    }

    /// A variable is changed once, in a way that is not known, or what it points to.
    pub(super) fn forget(&mut self, object: usize) {
        let mut next = Some(object);
        // A variable that is not known points to nothing, so this ends.
        while let Some(object) = next.and_then(|object| self.objects.get_mut(object)) {
            if object.is_const {
                return;
            }
            let value = Datum::unknown(Why::Changed(object.name));
            next = match std::mem::replace(&mut object.value, value) {
                Datum::Address(place) => Some(place.object),
                _ => None,
            };
        }
    }

    /// What an argument of a function leads to may be changed at any time. Returns whether a handle is among it, and how much was
    /// looked at.
    pub(super) fn give_away(&mut self, datum: &Datum<'a>) -> (bool, usize) {
        let mut open = vec![datum.clone()];
        let mut seen = BTreeSet::new();
        let (mut has_handle, mut steps) = (false, 0);
        while let Some(datum) = open.pop() {
            steps += 1;
            match datum {
                Datum::Handle(_) => has_handle = true,
                Datum::Array(parts) | Datum::Record(_, parts) => {
                    steps += parts.len();
                    let is_open = |part: &&Datum<'a>| {
                        matches!(
                            part,
                            Datum::Handle(_)
                                | Datum::Address(_)
                                | Datum::Array(_)
                                | Datum::Record(..)
                        )
                    };
                    open.extend(parts.iter().filter(is_open).cloned());
                }
                Datum::Address(place) if seen.insert(place.object) => {
                    if let Some(object) = self.objects.get_mut(place.object) {
                        open.push(object.value.clone());
                        if !object.is_const && object.lost.is_none() {
                            let why = Why::Changed(object.name);
                            object.lost = Some(Unknown { why });
                        }
                    }
                }
                _ => {}
            }
        }
        (has_handle, steps)
    }
}
