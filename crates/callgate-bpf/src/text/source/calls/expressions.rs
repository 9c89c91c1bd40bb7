//! Expressions of C as code.

use super::super::expression::OPERATORS;
use super::super::functions::is_count;
use super::super::integer::{Binary, Type, Value};
use super::super::macros::is_adjacent;
use super::code::{Op, Slot, Unary};
use super::compile::{Compiler, Inside};
use super::datum::{Datum, Why};
use super::declarations::STATEMENT_WORDS;
use super::kinds::{Kind, Records};
use super::outline::OUTSIDE;
use crate::SyscallTable;
use crate::cursor::Result;
use crate::diagnostic::error;
use crate::syscalls::{KnownSyscall, is_known_name, nearest_name};
use crate::token::{Token, TokenKind, quote};

/// What an expression leaves on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The address of a value.
    Place,
    Value,
}

/// The prefix of libseccomp's numbers of syscalls, also of those that the architecture does not have.
const NUMBER: &str = "__SNR_";

/// The most arguments of a call.
const MAX_ARGUMENTS: usize = 1000;

impl<'a> Compiler<'_, '_, 'a> {
    /// Compiles expressions between commas, and leaves the value of the last one.
    pub(super) fn value(&mut self) -> Result<()> {
        let form = self.comma()?;
        self.load(form);
        Ok(())
    }

    fn comma(&mut self) -> Result<Form> {
        let mut form = self.assignment()?;
        while self.take(',') {
            self.emit(Op::Pop);
            form = self.assignment()?;
        }
        Ok(form)
    }

    /// Compiles an expression without commas, and leaves its value.
    pub(super) fn assignment_value(&mut self) -> Result<()> {
        let form = self.assignment()?;
        self.load(form);
        Ok(())
    }

    fn load(&mut self, form: Form) {
        if form == Form::Place {
            self.emit(Op::Load);
        }
    }

    fn assignment(&mut self) -> Result<Form> {
        self.nested(|compiler| {
            let form = compiler.conditional()?;
            let Some((operator, length)) = compiler.assigns() else { return Ok(form) };
            if form != Form::Place {
                return Err(compiler.expected("the end of the expression"));
            }
            let position = compiler.position();
            compiler.at += length;
            compiler.assignment_value()?;
            compiler.emit_at(Op::Store(operator), position);
            Ok(Form::Value)
        })
    }

    /// Whether an assignment is next: its operator, and the number of its marks.
    fn assigns(&self) -> Option<(Option<Binary>, usize)> {
        if self.is('=') && !self.is_at(1, '=') {
            return Some((None, 1));
        }
        let (marks, operator) = self.operator_marks()?;
        let is_assignment = is_arithmetic(operator) && self.is_at(marks, '=');
        (is_assignment && !self.is_at(marks + 1, '=')).then_some((Some(operator), marks + 1))
    }

    /// The operator whose marks are next.
    fn operator_marks(&self) -> Option<(usize, Binary)> {
        let is_next = |(marks, _, levels): &&(&str, Binary, [u32; 3])| {
            levels.first().is_some_and(|level| *level > 0) && self.starts(marks)
        };
        OPERATORS.iter().find(is_next).map(|(marks, operator, _)| (marks.len(), *operator))
    }

    /// `a ? b : c`, or what binds more tightly.
    fn conditional(&mut self) -> Result<Form> {
        let form = self.binary(0)?;
        if !self.is('?') {
            return Ok(form);
        }
        self.load(form);
        let (from, position) = (self.at, self.position());
        self.at += 1;
        let region = self.open_region();
        let fails = self.branch(false, region, position);
        self.nested(|compiler| compiler.value())?;
        self.expect(':')?;
        let end = self.jump();
        let other = self.here();
        self.patch(fails, other);
        let form = self.nested(|compiler| compiler.conditional())?;
        self.load(form);
        let here = self.here();
        self.patch(end, here);
        self.close_region(region, (from, self.at), true, Inside::Nothing);
        Ok(Form::Value)
    }

    /// The binary operator that is next, its level, and the number of its marks.
    fn operator(&self) -> Option<(Binary, u32, usize)> {
        let is_next = |(marks, _, levels): &&(&str, Binary, [u32; 3])| {
            levels.first().is_some_and(|level| *level > 0) && self.starts(marks)
        };
        let (marks, operator, [level, ..]) = OPERATORS.iter().find(is_next)?;
        let is_assignment = is_arithmetic(*operator) && self.is_at(marks.len(), '=');
        (!is_assignment).then_some((*operator, *level, marks.len()))
    }

    /// The operands of operators above a level.
    fn binary(&mut self, least: u32) -> Result<Form> {
        let mut form = self.nested(|compiler| compiler.unary())?;
        while let Some((operator, level, marks)) =
            self.operator().filter(|(_, level, _)| *level > least)
        {
            self.load(form);
            let (from, position) = (self.at, self.position());
            self.at += marks;
            match operator {
                Binary::And | Binary::Or => {
                    let is_or = operator == Binary::Or;
                    let region = self.open_region();
                    let decided = self.branch(is_or, region, position);
                    let form = self.nested(|compiler| compiler.binary(level))?;
                    self.load(form);
                    self.emit_at(Op::Truth, position);
                    let end = self.jump();
                    let other = self.here();
                    self.patch(decided, other);
                    self.emit_at(Op::Push(Datum::int(i128::from(is_or))), position);
                    let here = self.here();
                    self.patch(end, here);
                    self.close_region(region, (from, self.at), true, Inside::Nothing);
                }
                _ => {
                    let form = self.nested(|compiler| compiler.binary(level))?;
                    self.load(form);
                    self.emit_at(Op::Binary(operator), position);
                }
            }
            form = Form::Value;
        }
        Ok(form)
    }

    fn unary(&mut self) -> Result<Form> {
        let Some(token) = self.peek() else { return Err(self.expected("a value")) };
        let next = self.token(self.at + 1);
        let is_double = |mark| {
            token.is(mark) && next.is_some_and(|next| next.is(mark) && is_adjacent(&token, &next))
        };
        if is_double('+') || is_double('-') {
            self.at += 2;
            let form = self.nested(|compiler| compiler.unary())?;
            return self.bump(form, if token.is('+') { 1 } else { -1 }, true);
        }
        let sign = match token.kind {
            TokenKind::Mark('-') => Some(Unary::Negate),
            TokenKind::Mark('~') => Some(Unary::Complement),
            TokenKind::Mark('+') => Some(Unary::Plus),
            TokenKind::Mark('!') => Some(Unary::Not),
            _ => None,
        };
        if let Some(sign) = sign {
            self.at += 1;
            let form = self.nested(|compiler| compiler.unary())?;
            self.load(form);
            self.emit_at(Op::Unary(sign), token.position);
            return Ok(Form::Value);
        }
        match token.kind {
            TokenKind::Mark('&') => {
                self.at += 1;
                let form = self.nested(|compiler| compiler.unary())?;
                if form == Form::Value {
                    self.emit_at(Op::Temporary, token.position);
                }
                Ok(Form::Value)
            }
            TokenKind::Mark('*') => {
                self.at += 1;
                let form = self.nested(|compiler| compiler.unary())?;
                self.load(form);
                Ok(Form::Place)
            }
            TokenKind::Mark('(') => self.parenthesis(),
            TokenKind::Word if token.text == "sizeof" => self.size(),
            TokenKind::Word if token.text == "__extension__" => {
                self.at += 1;
                self.nested(|compiler| compiler.unary())
            }
            _ => {
                let form = self.primary(token)?;
                self.postfix(form)
            }
        }
    }

    fn bump(&mut self, form: Form, by: i128, is_prefix: bool) -> Result<Form> {
        if form != Form::Place {
            return Err(self.expected("a variable"));
        }
        self.emit(Op::Bump { by, is_prefix });
        Ok(Form::Value)
    }

    /// A cast, the value of a structure, or an expression in parentheses.
    fn parenthesis(&mut self) -> Result<Form> {
        let (open, close) = (self.at, self.close()?);
        let position = self.position();
        if self.is_at(1, '{') {
            return Err(error(position, "a statement in an expression is not read"));
        }
        if self.is_type(open + 1, close, self.token(close + 1)) {
            let kind = self.type_name((open + 1, close))?;
            self.at = close + 1;
            if self.is('{') {
                self.list_of(&kind)?;
                if let Kind::Array(..) = kind {
                    self.emit_at(Op::Temporary, position);
                    return self.postfix(Form::Place);
                }
                return self.postfix(Form::Value);
            }
            let form = self.nested(|compiler| compiler.unary())?;
            self.load(form);
            self.emit_at(Op::Cast(kind), position);
            return Ok(Form::Value);
        }
        self.at += 1;
        let form = self.comma()?;
        if self.at != close {
            return Err(self.expected("`)`"));
        }
        self.at = close + 1;
        self.postfix(form)
    }

    /// `sizeof` of a type or an expression.
    fn size(&mut self) -> Result<Form> {
        let start = self.at;
        self.at += 1;
        if self.is('(') {
            let (open, close) = (self.at, self.close()?);
            if self.is_type(open + 1, close, None) {
                let kind = self.type_name((open + 1, close))?;
                let bytes = self.constant(start, close + 1);
                self.at = close + 1;
                let model = self.context.literals.model;
                let own = Records::bytes(&kind, i128::from(model.long_bits / 8));
                let datum = match (bytes, own) {
                    (Some(value), _) => Datum::Int(value),
                    (None, Some(own)) => Datum::Int(Value::of(own, model.size())),
                    (None, None) => Datum::Bytes(1, kind),
                };
                self.emit(Op::Push(datum));
                return Ok(Form::Value);
            }
        }
        let form = self.nested(|compiler| compiler.unary())?;
        match form {
            Form::Place => self.emit(Op::Size),
            Form::Value => {
                self.emit(Op::Pop);
                self.push_unknown(Why::Not("the size of this value is not known"));
            }
        }
        Ok(Form::Value)
    }

    /// Elements, members, calls and `++` after a value.
    fn postfix(&mut self, mut form: Form) -> Result<Form> {
        loop {
            let Some(token) = self.peek() else { return Ok(form) };
            let next = self.token(self.at + 1);
            let is_pair = |first, second| {
                token.is(first)
                    && next.is_some_and(|next| next.is(second) && is_adjacent(&token, &next))
            };
            if token.is('[') {
                let close = self.close()?;
                self.load(form);
                self.within((self.at + 1, close), |compiler| compiler.value())?;
                self.at = close + 1;
                self.emit_at(Op::Index, token.position);
                form = Form::Place;
            } else if token.is('.') || is_pair('-', '>') {
                let is_arrow = token.is('-');
                self.at += 1 + usize::from(is_arrow);
                let Some(name) = self.peek().filter(|name| name.is_name()) else {
                    return Err(self.expected("a member"));
                };
                self.at += 1;
                if is_arrow {
                    self.load(form);
                }
                form = match is_arrow || form == Form::Place {
                    true => {
                        self.emit_at(Op::Field(name.text), name.position);
                        Form::Place
                    }
                    false => {
                        self.emit_at(Op::Member(name.text), name.position);
                        Form::Value
                    }
                };
            } else if is_pair('+', '+') || is_pair('-', '-') {
                self.at += 2;
                form = self.bump(form, if token.is('+') { 1 } else { -1 }, false)?;
            } else if token.is('(') {
                self.load(form);
                self.emit(Op::Pop);
                let close = self.close()?;
                let count = self.arguments(close)?;
                self.emit_at(Op::Call { function: "", arguments: count }, token.position);
                form = Form::Value;
            } else {
                return Ok(form);
            }
        }
    }

    fn primary(&mut self, token: Token<'a>) -> Result<Form> {
        match token.kind {
            TokenKind::Number(_) => {
                self.at += 1;
                let value = self.context.literals.value(token.text);
                let datum = match value {
                    Ok(value) => Datum::Int(value),
                    Err(_) => Datum::unknown(Why::Not("this number is not read")),
                };
                self.emit_at(Op::Push(datum), token.position);
                Ok(Form::Value)
            }
            TokenKind::Mark('"') => {
                let mut parts = 0;
                while self.is('"') {
                    self.at += 1;
                    parts += 1;
                }
                let inside = token.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let inside = inside.filter(|text| parts == 1 && !text.contains('\\'));
                let datum = match inside {
                    Some(text) => Datum::Text(text),
                    None => Datum::unknown(Why::Not("this string is not read")),
                };
                self.emit_at(Op::Push(datum), token.position);
                Ok(Form::Value)
            }
            TokenKind::Word if self.is_at(1, '(') && self.variable(token.text).is_none() => {
                self.call(token)
            }
            TokenKind::Word if !STATEMENT_WORDS.contains(&token.text) => self.name(token),
            _ => Err(self.expected("a value")),
        }
    }

    /// A name that is not called.
    fn name(&mut self, token: Token<'a>) -> Result<Form> {
        self.at += 1;
        if let Some(slot) = self.variable(token.text) {
            self.emit_at(Op::Variable(slot), token.position);
            return Ok(Form::Place);
        }
        let datum = match token.text {
            "NULL" | "nullptr" | "false" | "FALSE" => Datum::int(0),
            "true" | "TRUE" => Datum::int(1),
            name if name.starts_with(NUMBER) => self.number(token)?,
            name => match self.constant(self.at - 1, self.at) {
                Some(value) => Datum::Int(value),
                None if self.outline.named(name).is_some_and(|at| at != OUTSIDE) => Datum::Function,
                None => {
                    self.missing(token)?;
                    if let Some(error) = self.unread.get(name) {
                        return Err(error.clone());
                    }
                    if self.assigns().is_some() {
                        // A variable that is declared outside the text.
                        let slot = self.global_count;
                        self.global_count += 1;
                        self.globals.insert(name, slot);
                        self.emit_at(Op::Variable(Slot::Global(slot)), token.position);
                        return Ok(Form::Place);
                    }
                    Datum::unknown(Why::Name(name))
                }
            },
        };
        self.emit_at(Op::Push(datum), token.position);
        Ok(Form::Value)
    }

    /// An error for the constant of a syscall that does not exist here: no compiler accepts it.
    fn missing(&self, token: Token<'a>) -> Result<()> {
        match self.context.names.integer(token.text, false) {
            Err(missing) => Err(error(token.position, missing.message).help(missing.help)),
            Ok(_) => Ok(()),
        }
    }

    /// The number of a syscall on the architecture of the program.
    fn number(&self, token: Token<'a>) -> Result<Datum<'a>> {
        let name = token.text.strip_prefix(NUMBER).unwrap_or_default();
        let own = self.context.names.arch().and_then(|arch| arch.number(name));
        if let Some(number) = own {
            return Ok(Datum::Int(Value::of(i128::from(number), Type::INT)));
        }
        match KnownSyscall::named(name) {
            Some(known) => Ok(Datum::Absent(known)),
            None if is_known_name(name) => {
                Ok(Datum::unknown(Why::Not("the numbers of this syscall are not known")))
            }
            None => {
                let message = format!("no architecture has a syscall {}", quote(name));
                let help = match nearest_name(name) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "check the spelling against syscalls(2)".to_owned(),
                };
                Err(error(token.position, message).help(help))
            }
        }
    }

    /// A call of a function, or of a macro that the text does not define.
    fn call(&mut self, token: Token<'a>) -> Result<Form> {
        let name = token.text;
        self.at += 1;
        let (open, close) = (self.at, self.close()?);
        let is_of_text = self.outline.named(name).is_some();
        let is_outer = !is_of_text && (self.outline.role)(name).is_none();
        if is_outer && is_hint(name) {
            // `likely(x)`: the first argument is the value.
            self.within((open + 1, close), |compiler| {
                compiler.assignment_value()?;
                while compiler.take(',') {
                    compiler.assignment_value()?;
                    compiler.emit(Op::Pop);
                }
                Ok(())
            })?;
            self.at = close + 1;
            return Ok(Form::Value);
        }
        let place = (self.here(), self.code.regions.len(), self.gotos.len());
        if is_outer && is_count(name) {
            let form = self.within((open + 1, close), |compiler| {
                let form = compiler.assignment()?;
                if compiler.at < compiler.end { Err(compiler.expected("`)`")) } else { Ok(form) }
            });
            if let Ok(Form::Place) = form {
                self.at = close + 1;
                self.emit_at(Op::Count, token.position);
                return self.postfix(Form::Value);
            }
            self.restore(place);
            self.at = open;
        }
        let arguments = self.arguments(close);
        let arguments = match arguments {
            Ok(arguments) => arguments,
            // A macro of a header, whose arguments may be anything.
            Err(error) if !is_outer || self.matters_in(open, close) => return Err(error),
            Err(_) => {
                self.restore(place);
                self.at = close + 1;
                self.forget(open, close);
                self.push_unknown(Why::Result(name));
                return self.postfix(Form::Value);
            }
        };
        match is_outer && is_end(name) {
            true => self.emit_at(Op::Halt, token.position),
            false => self.emit_at(Op::Call { function: name, arguments }, token.position),
        }
        self.postfix(Form::Value)
    }

    /// Compiles the arguments up to a parenthesis, from the open one on, and returns their number.
    fn arguments(&mut self, close: usize) -> Result<usize> {
        let open = self.at;
        let count = self.within((open + 1, close), |compiler| {
            let mut count = 0;
            while compiler.at < compiler.end {
                compiler.assignment_value()?;
                count += 1;
                if compiler.at < compiler.end {
                    compiler.expect(',')?;
                }
                if count > MAX_ARGUMENTS {
                    return Err(compiler.expected(&format!("at most {MAX_ARGUMENTS} arguments")));
                }
            }
            Ok(count)
        })?;
        self.at = close + 1;
        Ok(count)
    }

    /// Removes what was compiled since a place.
    pub(super) fn restore(&mut self, (instructions, regions, gotos): (usize, usize, usize)) {
        self.code.instructions.truncate(instructions);
        self.code.regions.truncate(regions);
        self.gotos.truncate(gotos);
        for target in &mut self.targets {
            target.breaks.retain(|at| *at < instructions);
            target.continues.retain(|at| *at < instructions);
            target.cases.retain(|(_, at)| *at < instructions);
        }
        self.labels.retain(|_, at| *at <= instructions);
    }

    /// Forgets the variables that a part of the text may change.
    pub(super) fn forget(&mut self, from: usize, to: usize) {
        let writes = self.writes_in(from, to).unwrap_or_default();
        if !writes.is_empty() {
            self.emit(Op::Forget(writes.into()));
        }
    }
}

/// Operators that an assignment may have.
fn is_arithmetic(operator: Binary) -> bool {
    matches!(
        operator,
        Binary::BitOr
            | Binary::BitXor
            | Binary::BitAnd
            | Binary::ShiftLeft
            | Binary::ShiftRight
            | Binary::Add
            | Binary::Subtract
            | Binary::Multiply
            | Binary::Divide
            | Binary::Remainder
    )
}

/// Whether a macro returns its first argument, with a hint for the compiler.
fn is_hint(name: &str) -> bool {
    matches!(
        name,
        "__builtin_expect"
            | "likely"
            | "unlikely"
            | "LIKELY"
            | "UNLIKELY"
            | "G_LIKELY"
            | "G_UNLIKELY"
    )
}

/// Whether a function of the C library ends the program.
fn is_end(name: &str) -> bool {
    matches!(
        name,
        "exit"
            | "_exit"
            | "_Exit"
            | "quick_exit"
            | "abort"
            | "err"
            | "errx"
            | "verr"
            | "verrx"
            | "__builtin_unreachable"
            | "__builtin_trap"
            | "__assert_fail"
    )
}
