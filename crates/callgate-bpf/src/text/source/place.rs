//! Instructions outside arrays that are assigned to elements: `f[0] = …`, `f[n++] = …`, `*p++ = …`.
//!
//! They are an array if each is assigned to the next element of the same variable, and nothing changes the index between
//! them.

use super::changed::is_assignment;
use crate::cursor::Result;
use crate::diagnostic::{Position, error};
use crate::token::Token;

/// How many tokens may be before an instruction in its statement.
const NEAR: usize = 64;

/// Which element an instruction is assigned to.
#[derive(Clone, Copy)]
pub(super) enum Index<'t, 'a> {
    /// This expression, which must be the number of the element.
    Number(&'t [Token<'a>]),
    /// `n++`
    Counter(&'a str),
    /// `*p++`
    Pointer(&'a str),
}

/// What an instruction is assigned to.
#[derive(Clone, Copy)]
pub(super) struct Place<'t, 'a> {
    /// The tokens before the index.
    target: &'t [Token<'a>],
    /// The place of the last one of them.
    at: usize,
    /// The index, and where it is.
    pub(super) index: Index<'t, 'a>,
    pub(super) position: Position,
}

/// The elements of a variable to which instructions are assigned.
pub(super) struct Places<'a> {
    /// The places of the name, one for each instruction.
    pub(super) stores: Vec<usize>,
    pub(super) name: Option<&'a str>,
    /// Whether the name is that of a pointer that is moved.
    pub(super) is_pointer: bool,
}

/// The place of the instruction whose first token is here; `None` if it is not assigned to anything.
pub(super) fn place_before<'t, 'a>(
    tokens: &'t [Token<'a>],
    here: usize,
) -> Result<Option<Place<'t, 'a>>> {
    let from = here.saturating_sub(NEAR);
    let near = tokens.get(from..here).unwrap_or_default();
    let ends = |token: &Token<'_>| token.is_any(";{}");
    let start = near.iter().rposition(ends).map_or(0, |end| end + 1);
    let mut before = near.get(start..).unwrap_or_default();
    let from = from + start;
    // `(struct sock_filter)`
    if before.last().is_some_and(|last| last.is(')')) {
        let open = before.iter().rposition(|token| token.is('('));
        before = open.and_then(|open| before.get(..open)).unwrap_or_default();
    }
    if let Some(condition) = before.iter().find(|token| token.is('?')) {
        let message = "which instruction is added depends on a condition of the program here";
        return Err(error(condition.position, message)
            .help("give the complete array, or read the running process (pid:N)"));
    }
    let [left @ .., equals] = before else { return Ok(None) };
    if !equals.is('=') {
        return Ok(None);
    }
    let place = element(left, from);
    place.map(Some).ok_or_else(|| {
        error(equals.position, "this is not assigned to the next element of an array")
            .help("write the elements as `f[0] = …; f[1] = …;`, or give the complete array")
    })
}

/// The element that the left side of an assignment is. `from` is the place of its first token.
fn element<'t, 'a>(left: &'t [Token<'a>], from: usize) -> Option<Place<'t, 'a>> {
    if let [star, name, one, two] = left {
        if star.is('*') && name.is_name() && one.is('+') && two.is('+') {
            return Some(Place {
                target: left.get(1..2)?,
                at: from + 1,
                index: Index::Pointer(name.text),
                position: name.position,
            });
        }
    }
    let [inside @ .., close] = left else { return None };
    let open = inside.iter().rposition(|token| token.is('[')).filter(|_| close.is(']'))?;
    let (target, index) = (inside.get(..open)?, inside.get(open + 1..)?);
    // `a.b->c`
    let is_part = |pair: &[Token<'_>]| match pair {
        [one, other] => one.is_name() != other.is_name() || (one.is('-') && other.is('>')),
        _ => false,
    };
    let is_name = target.iter().all(|token| token.is_name() || token.is_any(".->"));
    if !is_name || !target.windows(2).all(is_part) || !target.last().is_none_or(Token::is_name) {
        return None;
    }
    let index = match index {
        [name, one, two] if name.is_name() && one.is('+') && two.is('+') => {
            Index::Counter(name.text)
        }
        number => Index::Number(number),
    };
    let at = (from + open).checked_sub(1)?;
    Some(Place { target, at, index, position: inside.get(open)?.position })
}

impl<'a> Place<'_, 'a> {
    /// Whether the next instruction is assigned to an element of the same variable, with the same kind of index.
    fn is_same(&self, next: &Self) -> bool {
        let words = |place: &Self| place.target.iter().map(|token| token.text).collect::<Vec<_>>();
        let is_same_index = match (self.index, next.index) {
            (Index::Number(_), Index::Number(_)) => true,
            (Index::Counter(one), Index::Counter(other)) => one == other,
            (Index::Pointer(one), Index::Pointer(other)) => one == other,
            _ => false,
        };
        is_same_index && words(self) == words(next)
    }
}

/// The target of the next assigned instruction, after `rows` others, which must have targets of the same form.
pub(super) fn next_place<'t, 'a>(
    others: &[Place<'t, 'a>],
    place: Option<Place<'t, 'a>>,
    rows: usize,
    position: Position,
) -> Result<Option<Place<'t, 'a>>> {
    let is_same = match (others.last(), &place) {
        (Some(last), Some(place)) => others.len() == rows && last.is_same(place),
        (None, Some(_)) => rows == 0,
        (last, None) => last.is_none(),
    };
    let message = "this is not assigned to the same array as the instructions before it";
    let refused = || error(position, message).help("give the complete array");
    if is_same { Ok(place) } else { Err(refused()) }
}

/// The places of all instructions. An error if the index is changed between them, or does not begin with 0.
pub(super) fn places<'a>(
    tokens: &[Token<'a>],
    places: &[Place<'_, 'a>],
) -> Result<Option<Places<'a>>> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(None) };
    let found = Places {
        stores: places.iter().map(|place| place.at).collect(),
        name: first.target.last().map(|name| name.text),
        is_pointer: matches!(first.index, Index::Pointer(_)),
    };
    // The place of the word that counts.
    let (counter, distance) = match first.index {
        Index::Number(_) => return Ok(Some(found)),
        Index::Counter(name) => (name, 2),
        Index::Pointer(name) => (name, 0),
    };
    let is_wrong = |(at, token): &(usize, &Token<'_>)| {
        let after = tokens.get(at + 1..).unwrap_or_default();
        if token.text != counter || !token.is_name() {
            return false;
        }
        if *at < first.at {
            // Another variable of the same name may have other values; a pointer is followed.
            return distance > 0
                && is_assignment(after)
                && !matches!(after, [equals, zero, end, ..] if equals.is('=') && zero.text == "0"
                    && (end.is(';') || end.is(',')));
        }
        let is_own =
            at.checked_sub(distance).is_some_and(|at| found.stores.binary_search(&at).is_ok());
        *at <= last.at + distance && !is_own
    };
    match tokens.iter().enumerate().find(is_wrong) {
        None => Ok(Some(found)),
        Some((_, token)) => {
            let message = "which element is next depends on the program here";
            Err(error(token.position, message)
                .help("give the complete array, or read the running process (pid:N)"))
        }
    }
}
