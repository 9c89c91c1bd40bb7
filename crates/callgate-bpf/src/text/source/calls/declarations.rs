//! Declarations: the types and the names of variables, and their initializers.

use std::collections::HashMap;
use std::rc::Rc;

use super::code::{Initial, Op, Slot};
use super::compile::Compiler;
use super::datum::{Datum, Designator, Shape, Why};
use super::kinds::{Kind, MAX_ELEMENTS};
use crate::cursor::Result;
use crate::token::Token;

/// What precedes the names in a declaration.
struct Specifiers {
    kind: Kind,
    is_const: bool,
    is_static: bool,
    is_extern: bool,
    is_typedef: bool,
}

/// A name in a declaration.
struct Declarator<'a> {
    name: Option<Token<'a>>,
    kind: Kind,
    /// Whether a pointer itself is constant; `None` for what is not a pointer.
    is_const_pointer: Option<bool>,
    is_function: bool,
}

/// Words that begin a type or a declaration.
const TYPE_WORDS: [&str; 28] = [
    "const",
    "static",
    "extern",
    "register",
    "volatile",
    "struct",
    "union",
    "enum",
    "unsigned",
    "signed",
    "int",
    "char",
    "short",
    "long",
    "float",
    "double",
    "void",
    "bool",
    "_Bool",
    "typedef",
    "inline",
    "__inline",
    "__inline__",
    "auto",
    "_Thread_local",
    "__thread",
    "constexpr",
    "__extension__",
];

/// Words that begin a statement, or an expression.
pub(super) const STATEMENT_WORDS: [&str; 18] = [
    "if", "else", "for", "while", "do", "switch", "case", "default", "return", "goto", "break",
    "continue", "sizeof", "asm", "__asm__", "throw", "delete", "new",
];

impl<'a> Compiler<'_, '_, 'a> {
    /// Whether a declaration begins here.
    pub(super) fn starts_declaration(&self) -> bool {
        let Some(first) = self.peek().filter(|first| first.is_name()) else { return false };
        if TYPE_WORDS.contains(&first.text) || is_attribute(first.text) {
            return true;
        }
        if STATEMENT_WORDS.contains(&first.text) {
            return false;
        }
        let token = |distance: usize| self.token(self.at + distance);
        let is_name = |distance| {
            token(distance)
                .is_some_and(|token| token.is_name() && !STATEMENT_WORDS.contains(&token.text))
        };
        let ends = |distance| token(distance).is_some_and(|token| token.is_any("=;,[)"));
        if is_name(1) {
            return true;
        }
        if self.is_at(1, '*') {
            let stars = (1..).take_while(|distance| {
                self.is_at(*distance, '*')
                    || token(*distance).is_some_and(|token| token.text == "const")
            });
            let name = 1 + stars.count();
            return is_name(name) && ends(name + 1) && self.variable(first.text).is_none();
        }
        if self.is_at(1, '(') {
            // A macro before a type, or for one: `g_autoptr(GError) error = NULL;`
            let close = self.outline.pairs.partner(self.at + 1).unwrap_or(self.at);
            let after = close.saturating_sub(self.at) + 1;
            return after > 2
                && is_name(after)
                && (ends(after + 1) || is_name(after + 1) || self.is_at(after + 1, '*'));
        }
        false
    }

    /// Reads the words before the names. In an abstract declaration, no name follows.
    fn specifiers(&mut self, is_abstract: bool) -> Result<Specifiers> {
        let mut result = Specifiers {
            kind: Kind::Other,
            is_const: false,
            is_static: false,
            is_extern: false,
            is_typedef: false,
        };
        let (mut kind, mut words): (Option<Kind>, Vec<Token<'a>>) = (None, Vec::new());
        while let Some(token) = self.peek().filter(|token| token.is_name()) {
            match token.text {
                "const" | "constexpr" => result.is_const = true,
                "static" => result.is_static = true,
                "extern" => {
                    result.is_extern = true;
                    // `extern "C"`
                    self.at += usize::from(self.is_at(1, '"'));
                }
                "typedef" => result.is_typedef = true,
                "volatile" | "register" | "inline" | "__inline" | "__inline__" | "restrict"
                | "__restrict" | "_Noreturn" | "_Thread_local" | "__thread" | "__extension__" => {}
                "auto" => kind = Some(Kind::Other),
                "struct" | "union" | "enum" => {
                    kind = Some(self.nested(|compiler| compiler.record())?);
                    continue;
                }
                text if is_attribute(text) => {
                    self.at += 1;
                    if self.is('(') {
                        self.skip_pair()?;
                    }
                    if text.contains("typeof") {
                        kind = Some(Kind::Other);
                    }
                    continue;
                }
                text if TYPE_WORDS.contains(&text) => words.push(token),
                _ => {
                    let next = self.token(self.at + 1);
                    let is_before_name = next.is_some_and(|next| next.is_name() || next.is('*'));
                    let is_last = next.is_none_or(|next| next.is_any(")[,("));
                    let has_type = kind.is_some() || !words.is_empty();
                    if !has_type && next.is_some_and(|next| next.is('(')) && !is_abstract {
                        // A macro before a type.
                        self.at += 1;
                        self.skip_pair()?;
                        let is_type = !self.peek().is_some_and(|next| next.is_name())
                            || self
                                .token(self.at + 1)
                                .is_some_and(|next| !next.is_name() && !next.is('*'));
                        if is_type {
                            kind = Some(Kind::Other);
                        }
                        continue;
                    }
                    if has_type || !(is_before_name || (is_abstract && is_last)) {
                        break;
                    }
                    words.push(token);
                }
            }
            self.at += 1;
        }
        result.kind = kind.unwrap_or_else(|| self.named_kind(&words));
        Ok(result)
    }

    /// The type of words.
    fn named_kind(&self, words: &[Token<'a>]) -> Kind {
        if let [only] = words {
            if let Some(kind) = self.records.named(only.text) {
                return kind;
            }
        }
        match self.context.types.named(words) {
            Some((kind, length)) if length == words.len() => Kind::Int(kind),
            _ => Kind::Other,
        }
    }

    /// Reads a structure from its keyword on.
    fn record(&mut self) -> Result<Kind> {
        let keyword = self.peek().map_or("", |token| token.text);
        self.at += 1;
        while self.peek().is_some_and(|token| is_attribute(token.text)) {
            self.at += 1;
            if self.is('(') {
                self.skip_pair()?;
            }
        }
        let tag = self.peek().filter(|token| token.is_name());
        self.at += usize::from(tag.is_some());
        if !self.is('{') {
            return Ok(match (keyword, tag) {
                ("enum", _) | (_, None) => Kind::Other,
                (_, Some(tag)) => self.records.tagged(tag.text),
            });
        }
        let (open, close) = (self.at, self.close()?);
        self.at = close + 1;
        if keyword == "enum" {
            return Ok(Kind::Other);
        }
        let fields = self.within((open + 1, close), |compiler| compiler.fields());
        Ok(match fields {
            Ok(Some(fields)) => {
                self.records.add(tag.map(|tag| tag.text), fields, keyword == "union")
            }
            _ => Kind::Other,
        })
    }

    /// Reads the members of a structure; `None` for those that are not read.
    fn fields(&mut self) -> Result<Option<Vec<(&'a str, Kind)>>> {
        let mut fields = Vec::new();
        while self.at < self.end {
            let specifiers = self.specifiers(false)?;
            loop {
                let declarator = self.declarator(specifiers.kind.clone())?;
                let Some(name) = declarator.name else { return Ok(None) };
                let kind = match declarator.kind {
                    Kind::Array(_, None) => Kind::Other,
                    kind => kind,
                };
                fields.push((name.text, kind));
                if self.take(':') {
                    // The width does not matter: a value that fits is the same.
                    while self.peek().is_some_and(|token| !token.is_any(",;")) {
                        self.at += 1;
                    }
                }
                if !self.take(',') {
                    break;
                }
            }
            self.expect(';')?;
        }
        Ok(Some(fields))
    }

    /// Reads a name with what makes it a pointer, an array or a function.
    fn declarator(&mut self, kind: Kind) -> Result<Declarator<'a>> {
        let mut result =
            Declarator { name: None, kind, is_const_pointer: None, is_function: false };
        loop {
            match self.peek() {
                Some(token) if token.is('*') || token.is('&') => {
                    result.kind = Kind::Pointer;
                    result.is_const_pointer = Some(false);
                }
                Some(token) if token.text == "const" => {
                    result.is_const_pointer = result.is_const_pointer.map(|_| true);
                }
                Some(token)
                    if matches!(
                        token.text,
                        "restrict" | "__restrict" | "__restrict__" | "volatile"
                    ) => {}
                _ => break,
            }
            self.at += 1;
        }
        match self.peek() {
            Some(token) if token.is('(') => {
                // A pointer to a function, or to an array.
                let (open, close) = (self.at, self.close()?);
                let inside = self.tokens().get(open..close).unwrap_or_default();
                result.name = inside.iter().find(|token| token.is_name()).copied();
                result.kind = Kind::Pointer;
                result.is_const_pointer = Some(false);
                self.at = close + 1;
                while self.is('(') || self.is('[') {
                    self.skip_pair()?;
                }
                return Ok(result);
            }
            Some(token) if token.is_name() && !is_attribute(token.text) => {
                result.name = Some(token);
                self.at += 1;
            }
            _ => {}
        }
        let mut lengths: Vec<Option<usize>> = Vec::new();
        let mut is_odd = false;
        loop {
            match self.peek() {
                Some(token) if token.is('[') => {
                    let (open, close) = (self.at, self.close()?);
                    let length = self.constant(open + 1, close).map(|value| value.number);
                    let length = length.and_then(|number| usize::try_from(number).ok());
                    is_odd |= length.is_none() && close > open + 1;
                    lengths.push(length);
                    self.at = close + 1;
                }
                Some(token) if token.is('(') => {
                    result.is_function = true;
                    self.skip_pair()?;
                }
                Some(token) if is_attribute(token.text) || token.text.contains("asm") => {
                    self.at += 1;
                    if self.is('(') {
                        self.skip_pair()?;
                    }
                }
                _ => break,
            }
        }
        if lengths.len() > 8 {
            is_odd = true;
        }
        for length in lengths.iter().rev().filter(|_| !is_odd) {
            result.kind = self.records.array(result.kind, *length);
        }
        if is_odd {
            result.kind = Kind::Other;
        }
        Ok(result)
    }

    /// Reads the parameters of a function.
    pub(super) fn parameters(&mut self) -> Result<()> {
        let mut parameters: Vec<(&'a str, Kind)> = Vec::new();
        while self.at < self.end {
            if self.is('.') {
                break;
            }
            let specifiers = self.specifiers(false)?;
            let declarator = self.declarator(specifiers.kind)?;
            let name = declarator.name.map_or("", |name| name.text);
            let kind = match declarator.kind {
                Kind::Array(..) => Kind::Pointer,
                kind => kind,
            };
            // `(void)`, and a macro in place of the name.
            let is_nothing = name.is_empty() && parameters.is_empty() && self.at >= self.end;
            if !(is_nothing && kind == Kind::Other) {
                parameters.push((name, kind));
            }
            while self.at < self.end && !self.is(',') {
                self.at = match self.close() {
                    Ok(close) => close + 1,
                    Err(_) => self.at + 1,
                };
            }
            self.take(',');
        }
        for (name, _) in &parameters {
            self.declare(name);
        }
        self.code.parameters = parameters;
        Ok(())
    }

    /// Reads a type in parentheses, such as that of a cast.
    pub(super) fn type_name(&mut self, inside: (usize, usize)) -> Result<Kind> {
        self.within(inside, |compiler| {
            let specifiers = compiler.specifiers(true)?;
            let declarator = compiler.declarator(specifiers.kind)?;
            let is_whole = compiler.at >= compiler.end && !declarator.is_function;
            Ok(if is_whole { declarator.kind } else { Kind::Other })
        })
    }

    /// Whether a part of the tokens is a type; `after` is what follows its parenthesis.
    pub(super) fn is_type(&self, from: usize, to: usize, after: Option<Token<'a>>) -> bool {
        let inside = self.tokens().get(from..to).unwrap_or_default();
        let Some(first) = inside.first().filter(|first| first.is_name()) else { return false };
        if TYPE_WORDS.contains(&first.text) || first.text.contains("typeof") {
            return true;
        }
        if self.variable(first.text).is_some() {
            return false;
        }
        let is_part = |token: &Token<'a>| token.is_name() || token.is('*');
        if !inside.iter().all(is_part) {
            return false;
        }
        let is_known =
            self.records.named(first.text).is_some() || self.context.types.is_word(first.text);
        let is_pointer = inside.last().is_some_and(|last| last.is('*'));
        let is_before_value = after.is_some_and(|after| {
            after.is_name() || after.is_number() || after.is('"') || after.is('{') || after.is('~')
        });
        is_known || is_pointer || (inside.len() == 1 && is_before_value)
    }

    /// Reads a declaration.
    pub(super) fn declaration(&mut self) -> Result<()> {
        let specifiers = self.specifiers(false)?;
        if self.take(';') {
            return Ok(());
        }
        loop {
            let declarator = self.declarator(specifiers.kind.clone())?;
            let Some(name) = declarator.name else { return Err(self.expected("a name")) };
            if specifiers.is_typedef {
                self.records.define(name.text, declarator.kind);
            } else if !declarator.is_function {
                self.define(&specifiers, &declarator, name)?;
            }
            if !self.take(',') {
                break;
            }
        }
        self.expect(';')
    }

    /// Compiles the declaration of a variable.
    fn define(
        &mut self,
        specifiers: &Specifiers,
        declarator: &Declarator<'a>,
        name: Token<'a>,
    ) -> Result<()> {
        let kind = declarator.kind.clone();
        let is_const = match declarator.is_const_pointer {
            Some(is_const) => is_const,
            None => specifiers.is_const,
        };
        // What other functions, other files, or earlier calls of this function may have changed.
        let is_lasting = specifiers.is_static || (self.is_outside && self.scopes.len() == 1);
        let is_written = self.written.contains(name.text);
        let is_known = match &kind {
            _ if is_const || !is_lasting => true,
            Kind::Array(..) | Kind::Record(_) => {
                !is_written && !self.given_away.contains(name.text)
            }
            _ => specifiers.is_static && !is_written,
        };
        // The code outside functions that makes the filter itself is run from its begin.
        let is_snippet = self.is_outside && self.snippet();
        let slot = self.declare(name.text);
        let initial = if self.take('=') {
            self.initializer(&kind)?;
            Initial::Given
        } else if is_lasting && !specifiers.is_extern {
            Initial::Zero
        } else {
            Initial::Unset
        };
        let is_const = is_const && specifiers.is_const;
        let declare = Op::Declare { slot, kind, initial, is_const, name: name.text };
        self.emit_at(declare, name.position);
        if !is_known && !is_snippet {
            let forget: Rc<[(Slot, &'a str)]> = Rc::from(vec![(slot, name.text)]);
            self.emit_at(Op::Forget(forget), name.position);
        }
        Ok(())
    }

    /// Whether the code outside functions makes the filter.
    fn snippet(&self) -> bool {
        let outside = self.outline.functions.first();
        outside.is_some_and(|function| function.matters)
    }

    /// Compiles an initializer.
    fn initializer(&mut self, kind: &Kind) -> Result<()> {
        if self.is('{') {
            return self.list_of(kind);
        }
        self.assignment_value()
    }

    /// Compiles a list in braces for a type.
    pub(super) fn list_of(&mut self, kind: &Kind) -> Result<()> {
        let mut values = 0;
        let shape = self.nested(|compiler| compiler.list(&mut values))?;
        self.emit(Op::Build { shape: Rc::new(shape), kind: kind.clone(), values });
        Ok(())
    }

    fn list(&mut self, values: &mut usize) -> Result<Shape<'a>> {
        self.expect('{')?;
        let mut items = Vec::new();
        while !self.take('}') {
            let designator = self.designator()?;
            let item = match self.is('{') {
                true => self.nested(|compiler| compiler.list(values))?,
                false => {
                    *values += 1;
                    self.assignment_value()?;
                    Shape::Value
                }
            };
            items.push((designator, item));
            if items.len() > MAX_ELEMENTS {
                return Err(self.expected(&format!("at most {MAX_ELEMENTS} elements")));
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Shape::List(items))
    }

    fn designator(&mut self) -> Result<Designator<'a>> {
        let designator = match self.peek() {
            Some(token) if token.is('.') => {
                let name = self.token(self.at + 1).filter(|name| name.is_name());
                let Some(name) = name else { return Err(self.expected("a member")) };
                self.at += 2;
                Designator::Field(name.text)
            }
            Some(token) if token.is('[') => {
                let (open, close) = (self.at, self.close()?);
                let index = self.constant(open + 1, close).map(|value| value.number);
                let Some(index) = index.and_then(|number| usize::try_from(number).ok()) else {
                    return Err(self.expected("a constant index"));
                };
                self.at = close + 1;
                Designator::Index(index)
            }
            _ => return Ok(Designator::Next),
        };
        self.expect('=')?;
        Ok(designator)
    }

    /// A new scope.
    pub(super) fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(HashMap::new());
        let result = self.nested(read);
        self.scopes.pop();
        result
    }

    /// A value that is not known, in place of one that is not read.
    pub(super) fn push_unknown(&mut self, why: Why<'a>) {
        self.emit(Op::Push(Datum::unknown(why)));
    }
}

/// Words before a pair of parentheses that is not a part of the declaration.
fn is_attribute(word: &str) -> bool {
    word.starts_with("__attribute")
        || matches!(
            word,
            "__declspec" | "_Alignas" | "alignas" | "typeof" | "__typeof__" | "__typeof"
        )
}
