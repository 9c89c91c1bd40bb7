//! Operators of C for values that may be pointers, or not known.

use super::super::integer::{Binary, Type, Value};
use super::code::Unary;
use super::datum::{Datum, Place, Why};

/// The result of a binary operator.
pub(super) fn binary<'a>(operator: Binary, left: Datum<'a>, right: Datum<'a>) -> Datum<'a> {
    let not = |why| Datum::unknown(Why::Not(why));
    let truth = |holds: bool| Datum::int(i128::from(holds));
    match (left, right) {
        (Datum::Unknown(unknown), _) | (_, Datum::Unknown(unknown)) => Datum::Unknown(unknown),
        (Datum::Int(left), Datum::Int(right)) => match left.apply(operator, right, Type::INT) {
            Ok(value) => Datum::Int(value),
            Err(_) => not("the result of this operator is not known"),
        },
        (Datum::Bytes(many, kind), Datum::Bytes(one, other)) if kind == other && one > 0 => {
            match operator {
                Binary::Divide => size(many / one),
                _ => not("the number of bytes is not known"),
            }
        }
        (Datum::Absent(_), Datum::Int(value)) => negative(operator, value, false),
        (Datum::Int(value), Datum::Absent(_)) => negative(operator, value, true),
        (Datum::Absent(left), Datum::Absent(right)) => match operator {
            Binary::Equal => truth(left == right),
            Binary::NotEqual => truth(left != right),
            _ => not("the numbers of syscalls that the architecture does not have are not known"),
        },
        (Datum::Address(left), Datum::Address(right)) => addresses(operator, &left, &right)
            .unwrap_or_else(|| not("the difference of these pointers is not known")),
        (Datum::Address(place), Datum::Int(value)) | (Datum::Int(value), Datum::Address(place))
            if value.number != 0 || matches!(operator, Binary::Add | Binary::Subtract) =>
        {
            let by = match operator {
                Binary::Add => Some(value.number),
                Binary::Subtract => Some(-value.number),
                _ => None,
            };
            let moved = by.and_then(|by| moved(place, by));
            moved.map_or_else(|| not("this pointer is not known"), Datum::Address)
        }
        (Datum::Handle(left), Datum::Handle(right)) => match operator {
            Binary::Equal => truth(left == right),
            Binary::NotEqual => truth(left != right),
            _ => not("the order of these pointers is not known"),
        },
        // A pointer and NULL.
        (pointer, Datum::Int(null)) | (Datum::Int(null), pointer)
            if null.is_zero() == Some(true) =>
        {
            match (operator, pointer.truth()) {
                (Binary::Equal, Some(is)) => truth(!is),
                (Binary::NotEqual, Some(is)) => truth(is),
                _ => not("the result of this operator is not known"),
            }
        }
        _ => not("the result of this operator is not known"),
    }
}

/// A number of the type of `sizeof`.
pub(super) fn size<'a>(number: usize) -> Datum<'a> {
    Datum::Int(Value::of(number as i128, Type::UNSIGNED_LONG_LONG))
}

/// Compares a number with that of a syscall that the architecture does not have: libseccomp's are below -99.
fn negative<'a>(operator: Binary, value: Value, is_swapped: bool) -> Datum<'a> {
    /// The largest of libseccomp's numbers for such syscalls.
    const LARGEST: i128 = -100;
    let is_exact = value.is_zero().is_some() && value.number > LARGEST;
    let holds = match operator {
        _ if !is_exact || value.kind.is_none_or(|kind| !kind.is_signed()) => None,
        Binary::Equal => Some(false),
        Binary::NotEqual => Some(true),
        Binary::Less | Binary::LessEqual => Some(!is_swapped),
        Binary::Greater | Binary::GreaterEqual => Some(is_swapped),
        _ => None,
    };
    match holds {
        Some(holds) => Datum::int(i128::from(holds)),
        None => Datum::unknown(Why::Not(
            "the numbers of syscalls that the architecture does not have are not known",
        )),
    }
}

/// A place with another last index.
pub(super) fn moved(mut place: Place, by: i128) -> Option<Place> {
    if by == 0 {
        return Some(place);
    }
    let last = place.path.last_mut()?;
    *last = usize::try_from(i128::try_from(*last).ok()?.checked_add(by)?).ok()?;
    Some(place)
}

fn addresses<'a>(operator: Binary, left: &Place, right: &Place) -> Option<Datum<'a>> {
    let truth = |holds: bool| Some(Datum::int(i128::from(holds)));
    match operator {
        Binary::Equal => return truth(left == right),
        Binary::NotEqual => return truth(left != right),
        _ => {}
    }
    let (last, rest) = left.path.split_last()?;
    let (other, others) = right.path.split_last()?;
    if left.object != right.object || rest != others {
        return None;
    }
    match operator {
        Binary::Less => truth(last < other),
        Binary::LessEqual => truth(last <= other),
        Binary::Greater => truth(last > other),
        Binary::GreaterEqual => truth(last >= other),
        Binary::Subtract => {
            let difference = i128::try_from(*last).ok()? - i128::try_from(*other).ok()?;
            Some(Datum::Int(Value::of(difference, Type::LONG_LONG)))
        }
        _ => None,
    }
}

/// The result of a unary operator.
pub(super) fn unary(operator: Unary, operand: Datum<'_>) -> Datum<'_> {
    match (operator, operand) {
        (_, Datum::Unknown(unknown)) => Datum::Unknown(unknown),
        (Unary::Not, operand) => match operand.truth() {
            Some(holds) => Datum::int(i128::from(!holds)),
            None => Datum::unknown(Why::Not("whether this value is zero is not known")),
        },
        (Unary::Negate, Datum::Int(value)) => Datum::Int(value.negated(false)),
        (Unary::Complement, Datum::Int(value)) => Datum::Int(value.negated(true)),
        (Unary::Plus, Datum::Int(value)) => Datum::Int(value.negated(true).negated(true)),
        _ => Datum::unknown(Why::Not("the result of this operator is not known")),
    }
}
