//! Uses of the array of a text in C: one that may change it is an error, because the array alone is not the filter then.
//!
//! The text is followed, not executed. Every use of the array's name is classified, and of each name that the array is
//! copied to: variables, members of structures, parameters of functions of the text. What is not modelled may change the
//! array.

use std::collections::{BTreeMap, BTreeSet};

use super::changed::{
    CHANGED, PROGRAMS, declaration_before, has_references, other_structs, programs,
};
use super::copies::{Destination, argument_name, copy_of};
use super::declarator::{NEAR, base, changes_container, is_declared_here};
use super::functions::{
    global_words, is_constant_pointer, is_copy, is_reader, parameter, parameter_name, union_words,
    words,
};
use super::language::is_statement;
use super::operand::{Operand, Use, Value};
use super::pairs::{MAX_DEPTH, Pairs};
use super::place::Places;
use crate::cursor::Result;
use crate::diagnostic::Diagnostic;
use crate::token::{Token, quote};

/// How many names the array may have.
const MAX_NAMES: usize = 64;

/// How many parameters of a function are looked at.
const MAX_PARAMETERS: usize = 64;

/// A name by which a text reaches its array.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name<'a> {
    text: &'a str,
    kind: Kind,
    /// The braces in which the name is this one, as a range of tokens.
    scope: (usize, usize),
    /// Whether it is not followed in variables that are other structures than programs.
    is_of_program: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Variable,
    /// A member of a structure.
    Member,
    /// A variable that contains the array.
    Container,
    /// A variable that is a program, with the array as a member.
    Program,
}

/// Where the array of a text is.
pub(super) enum Origin<'p, 'a> {
    /// An initializer that begins at this brace.
    Brace(usize),
    /// Elements that are assigned one by one.
    Rows(&'p Places<'a>),
}

/// The names of the variables to which the array is copied.
///
/// # Errors
/// At the first use of an array that may change it.
pub(super) fn changing_use<'a>(
    pairs: &Pairs<'_, 'a>,
    origin: &Origin<'_, 'a>,
) -> Result<Vec<&'a str>> {
    let tokens = pairs.tokens();
    let (calls, values) = words(pairs);
    let mut uses = Uses {
        pairs,
        others: other_structs(tokens),
        programs: programs(tokens),
        global: global_words(pairs),
        unions: union_words(pairs),
        calls,
        values,
        has_references: has_references(tokens),
        followed: BTreeSet::new(),
        undefined: BTreeSet::new(),
        names: Vec::new(),
        path: None,
        stores: BTreeSet::new(),
        declared: BTreeSet::new(),
        is_const: false,
        is_moved: false,
        is_given: false,
        has_programs: false,
        array: None,
        is_alone: None,
        copies: Vec::new(),
        given_back: BTreeSet::new(),
    };
    uses.find(origin)?;
    Ok(uses.copies)
}

struct Uses<'p, 't, 'a> {
    pairs: &'p Pairs<'t, 'a>,
    /// The names of variables of other types, those that may be programs, and those outside of functions.
    others: BTreeSet<&'a str>,
    programs: BTreeSet<&'a str>,
    global: BTreeSet<&'a str>,
    /// The words in unions.
    unions: BTreeSet<&'a str>,
    /// The places of each word before a parenthesis, and the words elsewhere.
    calls: BTreeMap<&'a str, Vec<usize>>,
    values: BTreeSet<&'a str>,
    has_references: bool,
    /// The parameters of functions that were followed.
    followed: BTreeSet<(&'a str, usize, Kind)>,
    /// Those that the text does not define.
    undefined: BTreeSet<(&'a str, usize, Kind)>,
    names: Vec<Name<'a>>,
    /// The members around the array and itself, from the outside in, if all are named.
    path: Option<Vec<&'a str>>,
    /// Where elements are assigned that are the instructions.
    stores: BTreeSet<usize>,
    /// The name in the declaration of the array, and of variables that contain it.
    declared: BTreeSet<usize>,
    /// Whether the elements are constant, so that only a store is a change.
    is_const: bool,
    /// Whether the name that is followed is moved to another element.
    is_moved: bool,
    /// Whether it is given on, such as to a program.
    is_given: bool,
    /// Whether the variables that are programs were entered.
    has_programs: bool,
    /// The name of the array itself, of which `sizeof` is the size of all elements.
    array: Option<&'a str>,
    /// Whether nothing else in the text has this name, if that was looked up.
    is_alone: Option<bool>,
    /// The variables to which the array is copied.
    copies: Vec<&'a str>,
    /// The functions that copy it to what a parameter points to, and the indices of these parameters.
    given_back: BTreeSet<(&'a str, usize)>,
}

impl<'a> Uses<'_, '_, 'a> {
    fn find(&mut self, origin: &Origin<'_, 'a>) -> Result<()> {
        if let Some(at) = self.pairs.too_deep() {
            let what = format!("this is nested in more than {MAX_DEPTH} brackets, the limit");
            return self.error(at, what);
        }
        match origin {
            Origin::Brace(brace) => self.origin(*brace)?,
            Origin::Rows(places) => self.origin_of_rows(places)?,
        }
        // Names are found on the way.
        let mut next = 0;
        while let Some(name) = self.names.get(next).copied() {
            self.follow(name)?;
            next += 1;
        }
        Ok(())
    }

    /// The name whose elements are assigned.
    fn origin_of_rows(&mut self, places: &Places<'a>) -> Result<()> {
        self.stores = places.stores.iter().copied().collect();
        let (Some(at), Some(name)) = (places.stores.first().copied(), places.name) else {
            return Ok(());
        };
        if self.pairs.is_member(at) {
            return self.add(name, Kind::Member, None, at);
        }
        let is_global = self.global.contains(name);
        let block = self.pairs.blocks(at).last().filter(|_| !is_global);
        self.add(name, Kind::Variable, block, at)?;
        // `*p++` is an element of the array that the pointer has been given.
        if !places.is_pointer {
            return Ok(());
        }
        let from = block.unwrap_or(0);
        for here in from..at {
            let [word, equals, array, end] = self.pairs.slice(here, here + 4) else { continue };
            let ends = end.is_any(";,[");
            if word.text == name && equals.is('=') && ends && array.is_name() {
                self.add(array.text, Kind::Variable, block, at)?;
            }
        }
        Ok(())
    }

    /// The name that the array is declared with, or the use of one without a name.
    fn origin(&mut self, brace: usize) -> Result<()> {
        let pairs = self.pairs;
        if pairs.is_literal(brace) {
            let open = brace.checked_sub(1).and_then(|close| pairs.partner(close));
            let end = pairs.partner(brace).unwrap_or(brace) + 1;
            return self.judge(open.unwrap_or(brace), end, Kind::Variable, brace);
        }
        // `{ { rows } }`: a variable that contains the array, without the names of the members.
        let mut outer = brace;
        let mut is_nested = false;
        while outer.checked_sub(1).is_some_and(|at| pairs.is(at, '{') || pairs.is(at, ',')) {
            let Some(open) = pairs.enclosing(outer) else { break };
            (outer, is_nested) = (open, true);
        }
        let Some(mut before) = outer.checked_sub(1) else { return Ok(()) };
        if pairs.is(before, '(') || pairs.get(before).is_some_and(|word| is_statement(word.text)) {
            return self.refuse(brace, "this use is not read");
        }
        if pairs.is(before, '=') {
            before = before.saturating_sub(1);
        }
        // `f[2] __attribute__((aligned(8)))`, `(f)[2]`
        while let Some(open) = pairs.partner(before).filter(|open| *open < before) {
            let is_attribute = pairs
                .before(open, 1)
                .is_some_and(|word| word.text.starts_with('_') || !word.is_name());
            if pairs.is(open, '(') && before == open + 2 && !is_attribute {
                before -= 1;
                break;
            }
            before = open.saturating_sub(usize::from(pairs.is(open, '(')) + 1);
        }
        let Some(name) = pairs.get(before).filter(|name| name.is_name()) else {
            return Ok(());
        };
        self.declared.insert(before);
        let declaration = declaration_before(pairs.tokens(), before);
        let is_pointer = declaration.iter().any(|token| token.is('*'));
        self.is_const = declaration.iter().any(|token| token.text == "const") && !is_pointer;
        if !pairs.is_member(before) {
            self.array = Some(name.text).filter(|_| !is_pointer && !is_nested);
            let block = pairs.blocks(before).next();
            let kind = if is_nested { Kind::Container } else { Kind::Variable };
            return self.add(name.text, kind, block, before);
        }
        // The variables that contain it.
        let mut path = vec![name.text];
        for open in pairs.blocks(before) {
            let end = open.saturating_sub(1);
            let start = pairs.skip_back(end, NEAR, |token| token.is_any(";{}"));
            let is_name =
                |at: &usize| pairs.is(end, '=') && pairs.get(*at).is_some_and(|t| t.is_name());
            let place = (start..end).rev().find(is_name);
            if let Some((at, name)) = place.and_then(|at| Some((at, pairs.get(at)?))) {
                self.declared.insert(at);
                let block = pairs.blocks(open).next();
                self.add(name.text, Kind::Container, block, before)?;
                path.insert(0, name.text);
            } else {
                is_nested = true;
            }
        }
        path.remove(0);
        let is_union = path.iter().any(|name| self.unions.contains(name));
        self.path = Some(path).filter(|_| !is_nested && !is_union);
        self.add(name.text, Kind::Member, None, before)
    }

    /// Enters a name that is valid in the block that begins at a brace, or everywhere.
    fn add(&mut self, text: &'a str, kind: Kind, block: Option<usize>, at: usize) -> Result<()> {
        let end = |open| self.pairs.partner(open).unwrap_or(usize::MAX);
        let scope = block.map_or((0, usize::MAX), |open| (open, end(open)));
        self.add_name(Name { text, kind, scope, is_of_program: false }, at)
    }

    /// Enters a member of programs.
    fn add_to_programs(&mut self, text: &'a str, at: usize) -> Result<()> {
        let scope = (0, usize::MAX);
        self.add_name(Name { text, kind: Kind::Member, scope, is_of_program: true }, at)
    }

    fn add_name(&mut self, name: Name<'a>, at: usize) -> Result<()> {
        if self.names.contains(&name) {
            return Ok(());
        }
        if self.names.len() >= MAX_NAMES {
            let what = format!("the array has more than {MAX_NAMES} names here, the limit");
            return self.error(at, what);
        }
        self.names.push(name);
        Ok(())
    }

    /// Classifies the uses of a name.
    fn follow(&mut self, name: Name<'a>) -> Result<()> {
        let (from, to) = name.scope;
        (self.is_moved, self.is_given) = (false, false);
        for at in from..to.min(self.pairs.tokens().len()) {
            let Some(token) = self.pairs.get(at) else { break };
            if !token.is_name()
                || token.text != name.text
                || self.pairs.is_member(at) != (name.kind == Kind::Member)
                || self.declared.contains(&at)
            {
                continue;
            }
            let start = match name.kind {
                Kind::Member if name.is_of_program && self.is_of_other(at) => continue,
                Kind::Member => match base(self.pairs, at) {
                    Some(start) => start,
                    None => return self.refuse(at, "this use is not read"),
                },
                _ if is_declared_here(self.pairs, at) => continue,
                _ => at,
            };
            match (name.kind, changes_container(self.pairs, self.path.as_deref(), at)) {
                (Kind::Container, Some(true)) => return self.changed(at),
                (Kind::Container, Some(false)) => continue,
                _ => self.judge(start, at + 1, name.kind, at)?,
            }
            // A member that is moved is that of a program.
            let is_given = self.is_given || name.kind == Kind::Member;
            if self.is_moved && is_given && name.kind != Kind::Program {
                let what = format!("{} is a part of the array here, or later", quote(name.text));
                return self.error(at, what);
            }
        }
        Ok(())
    }

    /// Whether a member is that of a variable with another type.
    fn is_of_other(&self, at: usize) -> bool {
        let dots = 1 + usize::from(self.pairs.is_before(at, 1, '>'));
        self.pairs.before(at, dots + 1).is_some_and(|base| {
            base.is_name() && !self.programs.contains(base.text) && self.others.contains(base.text)
        })
    }

    /// Classifies what is done with an operand, and follows where it goes.
    fn judge(&mut self, start: usize, end: usize, kind: Kind, at: usize) -> Result<()> {
        let operand = Operand {
            pairs: self.pairs,
            start,
            end,
            value: Value::Pointer,
            is_moved: false,
            has_references: self.has_references,
        };
        let (found, is_moved) = operand.judge();
        if found == Use::Store && self.stores.contains(&at) {
            return Ok(());
        }
        self.is_moved |= is_moved;
        self.is_given |= matches!(found, Use::Copied(..) | Use::Listed(_));
        let is_program = kind == Kind::Program;
        match found {
            Use::Read => Ok(()),
            Use::Store => self.changed(at),
            Use::Passed { function, .. } if !is_program && is_copy(function) => {
                self.copied_by(function, is_moved, at)
            }
            _ if self.is_const => Ok(()),
            Use::Copied(equals, _) if is_program => self.copied(equals, kind, at),
            Use::Copied(_, Value::Address) => self.refuse(at, "its address is taken"),
            Use::Copied(equals, _) => self.copied(equals, kind, at),
            Use::Listed(brace) => match self.is_program(brace) {
                true => self.of_program(at),
                false if is_program => Ok(()),
                false => self.refuse(at, "a structure has it without a name"),
            },
            Use::Passed { function, nth } => self.passed(function, nth, kind, at),
            Use::Other if is_program => Ok(()),
            Use::Other => self.refuse(at, "this use is not read"),
        }
    }

    /// Follows the pointer to what an assignment gives it to.
    fn copied(&mut self, equals: usize, kind: Kind, at: usize) -> Result<()> {
        let to = equals.saturating_sub(1);
        let Some(name) = self.pairs.before(equals, 1).filter(|name| name.is_name()) else {
            return match kind {
                Kind::Program => Ok(()),
                _ => self.refuse(at, "a pointer to it is stored elsewhere"),
            };
        };
        if self.pairs.is_member(to) {
            if kind == Kind::Program {
                return Ok(());
            }
            if self.unions.contains(name.text) {
                return self.refuse(at, "a member of a union gets it");
            }
            // All programs have the members of one that is followed.
            match self.is_member_of_program(to) {
                true => self.add_to_programs(name.text, at)?,
                false => self.add(name.text, Kind::Member, None, at)?,
            }
            return self.programs(at);
        }
        let is_declared = is_declared_here(self.pairs, to);
        if self.pairs.is_before(to, 1, '*') && !is_declared {
            return self.refuse(at, "a pointer to it is stored elsewhere");
        }
        let mut blocks = self.pairs.blocks(to);
        let block = if is_declared { blocks.next() } else { blocks.last() };
        let is_global = !is_declared && self.global.contains(name.text);
        self.add(name.text, kind, block.filter(|_| !is_global), at)
    }

    /// Follows the variable to which a function copies the whole array. What is done with any other copy is not known.
    fn copied_by(&mut self, function: &'a str, is_moved: bool, at: usize) -> Result<()> {
        let is_array = self.pairs.get(at).is_some_and(|name| self.array == Some(name.text));
        let copy = copy_of(self.pairs, function, at).filter(|_| is_array && !is_moved);
        let Some(copy) = copy.filter(|_| self.is_alone()) else {
            return self.refuse(at, "it is copied elsewhere");
        };
        let (function, nth) = match copy {
            Destination::Variable(to) => return self.add_copy(to, at),
            Destination::Parameter { at: to, function, nth } => {
                self.add_copy(to, at)?;
                (function, nth)
            }
        };
        // What the callers in the text give is changed to the array.
        let Some(name) = self.pairs.get(function) else { return Ok(()) };
        if !self.given_back.insert((name.text, nth)) {
            return Ok(());
        }
        for here in self.calls.get(name.text).cloned().unwrap_or_default() {
            if here == function || self.pairs.enclosing(here).is_none() {
                continue;
            }
            match argument_name(self.pairs, here, nth) {
                Some(to) => self.add_copy(to, at)?,
                None => return self.refuse(here, "it is copied elsewhere"),
            }
        }
        Ok(())
    }

    /// Whether nothing else in the text has the name of the array.
    fn is_alone(&mut self) -> bool {
        let (pairs, array) = (self.pairs, self.array);
        let is_other = |(here, token): (usize, &Token<'_>)| {
            token.is_name()
                && Some(token.text) == array
                && !self.declared.contains(&here)
                && !pairs.is_member(here)
                && is_declared_here(pairs, here)
        };
        let known = self.is_alone;
        let is_alone = known.unwrap_or_else(|| !pairs.tokens().iter().enumerate().any(is_other));
        self.is_alone = Some(is_alone);
        is_alone
    }

    /// Enters the variable at a place, to which the array is copied there.
    fn add_copy(&mut self, to: usize, at: usize) -> Result<()> {
        let Some(name) = self.pairs.get(to) else { return Ok(()) };
        self.declared.insert(to);
        // What a function may not do with the array, it may do with the copy.
        self.is_const = false;
        if !self.copies.contains(&name.text) {
            self.copies.push(name.text);
        }
        let is_global = self.global.contains(name.text);
        let block = self.pairs.blocks(to).last();
        self.add(name.text, Kind::Variable, block.filter(|_| !is_global), at)
    }

    /// Whether a member is that of a variable that is a program, or of the initializer of one.
    fn is_member_of_program(&self, at: usize) -> bool {
        let dots = 1 + usize::from(self.pairs.is_before(at, 1, '>'));
        match self.pairs.before(at, dots + 1).filter(|base| base.is_name()) {
            Some(base) => self.programs.contains(base.text) && !self.others.contains(base.text),
            None => self.pairs.enclosing(at).is_some_and(|brace| self.is_program(brace)),
        }
    }

    /// Whether a brace begins the initializer of a program.
    fn is_program(&self, brace: usize) -> bool {
        let outer = self.pairs.blocks(brace).last();
        let outer = outer.filter(|open| self.pairs.is_before(*open, 1, '='));
        let has_type = |at: usize| {
            declaration_before(self.pairs.tokens(), at)
                .iter()
                .any(|token| PROGRAMS.contains(&token.text))
        };
        has_type(brace) || outer.is_some_and(has_type)
    }

    /// The array is the one of a program.
    fn of_program(&mut self, at: usize) -> Result<()> {
        self.add_to_programs("filter", at)?;
        self.add_to_programs("bf_insns", at)?;
        self.programs(at)
    }

    /// Enters the variables that are programs.
    fn programs(&mut self, at: usize) -> Result<()> {
        if std::mem::replace(&mut self.has_programs, true) {
            return Ok(());
        }
        for (here, token) in self.pairs.tokens().iter().enumerate() {
            if !PROGRAMS.contains(&token.text) {
                continue;
            }
            let rest = self.pairs.slice(here + 1, usize::MAX);
            let stars = rest.iter().take_while(|token| token.is('*')).count();
            let Some(name) = rest.get(stars).filter(|name| name.is_name()) else {
                continue;
            };
            let open = self.pairs.enclosing(here);
            let block = match open.filter(|open| self.pairs.is(*open, '(')) {
                // A parameter, if that is the head of a function with its body.
                Some(open) => self.pairs.partner(open).map(|close| close + 1),
                None => self.pairs.blocks(here).next(),
            };
            if name.text != "const" && block.is_none_or(|block| self.pairs.is(block, '{')) {
                self.add(name.text, Kind::Program, block, at)?;
            }
        }
        Ok(())
    }

    /// Follows an argument into the function. A definition in the text comes before what is known of a name.
    fn passed(&mut self, function: &'a str, nth: usize, kind: Kind, at: usize) -> Result<()> {
        if self.followed.contains(&(function, nth, kind)) {
            return Ok(());
        }
        let refused =
            |uses: &Self| uses.refuse(at, &format!("it is passed to {}", quote(function)));
        let open = self.pairs.enclosing(at);
        let is_only = open.and_then(|open| self.pairs.partner(open)).is_some_and(|close| {
            nth == 0 && close.checked_sub(1).is_some_and(|last| self.pairs.commas(last) == 0)
        });
        let is_known =
            !self.values.contains(function) && is_reader(function, is_only, kind == Kind::Program);
        if nth >= MAX_PARAMETERS || self.undefined.contains(&(function, nth, kind)) {
            return if is_known { Ok(()) } else { refused(self) };
        }
        let places = self.calls.get(function).cloned().unwrap_or_default();
        let (mut is_defined, mut is_constant) = (false, false);
        for here in places {
            let is_head = self.pairs.enclosing(here).is_none()
                || self.pairs.before(here, 1).is_none_or(|token| {
                    (token.is_name() && !is_statement(token.text)) || token.is('*')
                });
            let Some(close) = self.pairs.partner(here + 1).filter(|_| is_head) else { continue };
            if close > at && here < at {
                continue;
            }
            let place = parameter(self.pairs, (here + 2, close), nth);
            let next = self.pairs.get(close + 1);
            if next.is_some_and(|next| next.is('{')) {
                let name = place.and_then(|place| parameter_name(self.pairs, place));
                let Some(name) = name else { return refused(self) };
                is_defined = true;
                self.add(name, kind, Some(close + 1), at)?;
            } else if self.pairs.enclosing(here).is_none() && here > 0 {
                // A prototype, or a definition in a form that is not read.
                if !next.is_some_and(|next| next.is_any(";,") || next.text.starts_with('_')) {
                    return refused(self);
                }
                let tokens = place.map(|(from, to)| self.pairs.slice(from, to));
                is_constant |= kind != Kind::Program && tokens.is_some_and(is_constant_pointer);
            }
        }
        if !is_defined && !is_known && !is_constant {
            return refused(self);
        }
        // A macro for the number of elements is known by its one argument.
        let known =
            if is_defined || is_constant { &mut self.followed } else { &mut self.undefined };
        known.insert((function, nth, kind));
        Ok(())
    }

    /// The array may not be the filter.
    fn refuse(&self, at: usize, why: &str) -> Result<()> {
        let name = self.pairs.get(at).filter(|name| name.is_name());
        let name = name.map_or("the array".to_owned(), |name| quote(name.text));
        self.error(at, format!("{name} may be changed here, and then it is not the filter: {why}"))
    }

    fn error(&self, at: usize, message: String) -> Result<()> {
        let position = self.pairs.get(at).map(|token| token.position);
        Err(Diagnostic::error(position, message).help(
            "paste only the array if this does not change it, or read the running process (pid:N)",
        ))
    }

    fn changed(&self, at: usize) -> Result<()> {
        let position = self.pairs.get(at).map(|token| token.position);
        Err(Diagnostic::error(position, CHANGED)
            .help("paste only the array as it is after this, or read the running process (pid:N)"))
    }
}
