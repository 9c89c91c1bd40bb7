//! Values of a program that runs, and how initializers become values.

use std::rc::Rc;

use super::super::integer::{Sure, Type, Value};
use super::kinds::{Kind, MAX_ELEMENTS, Records};
use crate::syscalls::KnownSyscall;
use crate::token::quote;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Datum<'a> {
    Int(Value),
    /// The negative number of a syscall that the architecture does not have.
    Absent(KnownSyscall),
    /// A pointer that a library returned.
    Handle(usize),
    Address(Place),
    Array(Rc<Vec<Datum<'a>>>),
    Record(usize, Rc<Vec<Datum<'a>>>),
    Text(&'a str),
    Function,
    /// The number of bytes of some elements of a type whose size is not known.
    Bytes(usize, Kind),
    Unknown(Unknown<'a>),
}

/// The place of a value: a variable, and the indices of elements and members in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) object: usize,
    pub(super) path: Vec<usize>,
}

/// Why a value is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unknown<'a> {
    pub(super) why: Why<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why<'a> {
    /// The value of a name.
    Name(&'a str),
    /// The result of a function.
    Result(&'a str),
    /// A variable that was changed in a way that is not known.
    Changed(&'a str),
    /// What was not computed, and the reason.
    Not(&'static str),
}

impl Unknown<'_> {
    /// The reason as a clause.
    pub(super) fn text(&self) -> String {
        match self.why {
            Why::Name(name) => format!("the value of {} is not known", quote(name)),
            Why::Result(name) => {
                format!("the result of {} is known only when the program runs", quote(name))
            }
            Why::Changed(name) => {
                format!("the value of {} is known only when the program runs", quote(name))
            }
            Why::Not(why) => why.to_owned(),
        }
    }
}

impl<'a> Datum<'a> {
    pub(super) fn int(number: i128) -> Datum<'a> {
        Datum::Int(Value::of(number, Type::INT))
    }

    pub(super) fn unknown(why: Why<'a>) -> Datum<'a> {
        Datum::Unknown(Unknown { why })
    }

    /// Whether it is not zero, if that is known.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Datum::Int(value) => value.is_zero().map(|is_zero| !is_zero),
            Datum::Unknown(_) => None,
            Datum::Bytes(count, _) => Some(*count > 0),
            _ => Some(true),
        }
    }

    /// The elements or members.
    pub(super) fn parts(&self) -> Option<&Rc<Vec<Datum<'a>>>> {
        match self {
            Datum::Array(parts) | Datum::Record(_, parts) => Some(parts),
            _ => None,
        }
    }

    pub(super) fn parts_mut(&mut self) -> Option<&mut Rc<Vec<Datum<'a>>>> {
        match self {
            Datum::Array(parts) | Datum::Record(_, parts) => Some(parts),
            _ => None,
        }
    }

    /// The value as a variable of a type has it.
    pub(super) fn conform(self, kind: &Kind) -> Datum<'a> {
        match (self, kind) {
            (Datum::Int(value), Kind::Int(own)) => Datum::Int(converted(value, *own)),
            (datum, _) => datum,
        }
    }

    /// A value of a type, all of whose parts are this one.
    pub(super) fn filled(records: &Records<'a>, kind: &Kind, with: &Datum<'a>) -> Datum<'a> {
        match kind {
            Kind::Array(element, Some(length)) => {
                let one = Datum::filled(records, element, with);
                Datum::Array(Rc::new(vec![one; *length]))
            }
            Kind::Record(record) => match records.layout(*record) {
                Some(layout) => {
                    let fields = layout.fields.iter();
                    let fields = fields.map(|(_, kind)| Datum::filled(records, kind, with));
                    Datum::Record(*record, Rc::new(fields.collect()))
                }
                None => match with {
                    Datum::Unknown(_) => with.clone(),
                    _ => Datum::unknown(Why::Not("a union is not read")),
                },
            },
            Kind::Array(..) => Datum::unknown(Why::Not("the array has no size")),
            kind => with.clone().conform(kind),
        }
    }
}

/// The conversion of a number to a type. The number of a constant of the headers is known, if only its type is not.
pub(super) fn converted(value: Value, kind: Type) -> Value {
    let sure = if value.sure == Sure::Low { Sure::Yes } else { value.sure };
    Value { sure, ..value }.converted(kind)
}

/// The form of an initializer. Its values are in the order of the text.
#[derive(Clone, Debug)]
pub(super) enum Shape<'a> {
    Value,
    List(Vec<(Designator<'a>, Shape<'a>)>),
}

/// What an element of an initializer is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Designator<'a> {
    Next,
    Field(&'a str),
    Index(usize),
}

/// Makes values of initializers.
pub(super) struct Builder<'b, 'a> {
    pub(super) records: &'b Records<'a>,
    /// The values that are not used yet.
    pub(super) values: std::vec::IntoIter<Datum<'a>>,
}

impl<'a> Builder<'_, 'a> {
    fn not(&self, why: &'static str) -> Datum<'a> {
        Datum::unknown(Why::Not(why))
    }

    /// The value of an initializer. The recursion ends with the nesting of the text's braces.
    pub(super) fn build(&mut self, shape: &Shape<'a>, kind: &Kind) -> Datum<'a> {
        match (shape, kind) {
            (Shape::Value, _) => {
                let value = self.values.next().unwrap_or_else(|| self.not("a value is missing"));
                match (&value, kind) {
                    (Datum::Unknown(_) | Datum::Text(_), _) => value,
                    (Datum::Record(own, _), Kind::Record(record)) if own == record => value,
                    (Datum::Record(..), Kind::Other) => value,
                    (_, Kind::Record(_) | Kind::Array(..)) => {
                        self.not("an initializer without its own braces is not read")
                    }
                    _ => value.conform(kind),
                }
            }
            (Shape::List(items), Kind::Record(record)) => self.record(items, *record),
            (Shape::List(items), Kind::Array(element, length)) => {
                self.array(items, element, *length)
            }
            (Shape::List(items), _) => match items.as_slice() {
                [] => Datum::int(0).conform(kind),
                [(Designator::Next, only)] => self.build(only, kind),
                _ => {
                    self.skip(shape);
                    self.not("the text does not define the type of this initializer")
                }
            },
        }
    }

    /// Skips the values of an initializer.
    fn skip(&mut self, shape: &Shape<'a>) {
        match shape {
            Shape::Value => drop(self.values.next()),
            Shape::List(items) => items.iter().for_each(|(_, item)| self.skip(item)),
        }
    }

    fn record(&mut self, items: &[(Designator<'a>, Shape<'a>)], record: usize) -> Datum<'a> {
        let records = self.records;
        let kind = Kind::Record(record);
        let zero = Datum::filled(records, &kind, &Datum::int(0));
        let (Some(layout), Datum::Record(_, parts)) = (records.layout(record), zero) else {
            items.iter().for_each(|(_, item)| self.skip(item));
            return self.not("a union is not read");
        };
        let mut parts = parts.to_vec();
        let (mut next, mut is_wrong) = (0, false);
        for (designator, item) in items {
            next = match designator {
                Designator::Next => next,
                Designator::Field(name) => {
                    records.field(record, name).map_or(usize::MAX, |(at, _)| at)
                }
                Designator::Index(_) => usize::MAX,
            };
            match (layout.fields.get(next), parts.get_mut(next)) {
                (Some((_, kind)), Some(part)) => *part = self.build(item, kind),
                _ => {
                    self.skip(item);
                    is_wrong = true;
                }
            }
            next = next.saturating_add(1);
        }
        match is_wrong {
            true => self.not("the structure does not have these members"),
            false => Datum::Record(record, Rc::new(parts)),
        }
    }

    fn array(
        &mut self,
        items: &[(Designator<'a>, Shape<'a>)],
        element: &Kind,
        length: Option<usize>,
    ) -> Datum<'a> {
        let zero = Datum::filled(self.records, element, &Datum::int(0));
        let most = length.unwrap_or(MAX_ELEMENTS);
        let mut parts: Vec<Datum<'a>> = Vec::with_capacity(items.len().min(most));
        let (mut next, mut is_wrong) = (0usize, false);
        for (designator, item) in items {
            next = match designator {
                Designator::Next => next,
                Designator::Index(index) => *index,
                Designator::Field(_) => usize::MAX,
            };
            if next >= most {
                self.skip(item);
                is_wrong = true;
                continue;
            }
            let value = self.build(item, element);
            if next >= parts.len() {
                parts.resize(next + 1, zero.clone());
            }
            if let Some(part) = parts.get_mut(next) {
                *part = value;
            }
            next += 1;
        }
        if is_wrong {
            return self.not("the array does not have these elements");
        }
        if let Some(length) = length {
            parts.resize(length, zero);
        }
        Datum::Array(Rc::new(parts))
    }
}
