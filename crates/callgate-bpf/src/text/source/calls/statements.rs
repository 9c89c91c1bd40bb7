//! Statements of C as code.

use super::super::integer::Binary;
use super::code::{Initial, Op};
use super::compile::{Compiler, Inside, Target};
use super::datum::{Datum, Why};
use super::kinds::Kind;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Topic, error};
use crate::token::quote;

/// The most conditions of one `if` with `else if`.
const MAX_PARTS: usize = 200;
/// The most names in statements that were not read.
const MAX_UNREAD: usize = 1000;

impl Compiler<'_, '_, '_> {
    /// Compiles a statement. One that is not read, and that could only change variables, makes these unknown.
    pub(super) fn statement(&mut self) -> Result<()> {
        let (from, scopes) = (self.at, self.scopes.len());
        let targets = self.targets.len();
        let place = (self.here(), self.code.regions.len(), self.gotos.len());
        let result = self.nested(|compiler| compiler.one());
        let Err(error) = result else { return Ok(()) };
        let to = self.statement_end(from).min(self.end).max(from + 1);
        let is_left = !self.is_outside && self.is_left(from, to, Inside::Nothing);
        if is_left || self.matters_in(from, to) {
            return Err(error);
        }
        self.scopes.truncate(scopes);
        self.targets.truncate(targets);
        self.restore(place);
        self.at = to;
        self.forget(from, to);
        self.note_unread(from, to, &error);
        Ok(())
    }

    /// Notes the names that a statement may declare, and why it was not read.
    fn note_unread(&mut self, from: usize, to: usize, error: &Diagnostic) {
        let outline = self.outline;
        for at in from..to {
            let declared = outline.pairs.get(at).filter(|name| name.is_name());
            let ends = outline.pairs.get(at + 1).is_some_and(|next| next.is_any("=[;,"));
            if let Some(name) = declared.filter(|_| ends && self.unread.len() < MAX_UNREAD) {
                self.unread.entry(name.text).or_insert_with(|| error.clone());
            }
        }
    }

    fn one(&mut self) -> Result<()> {
        let Some(token) = self.peek() else { return Err(self.expected("a statement")) };
        if token.is('{') {
            return self.block();
        }
        if self.take(';') {
            return Ok(());
        }
        let is_label = token.is_name() && self.is_at(1, ':') && !self.is_at(2, ':');
        match token.text {
            "if" => self.branches(),
            "while" => self.while_loop(),
            "do" => self.do_loop(),
            "for" => self.for_loop(),
            "switch" => self.switch(),
            "case" | "default" => self.label_of_switch(),
            "return" => {
                self.at += 1;
                match self.is(';') {
                    true => self.push_unknown(Why::Not("the function returns no value")),
                    false => self.value()?,
                }
                self.emit_at(Op::Return, token.position);
                self.expect(';')
            }
            "break" | "continue" => {
                self.at += 1;
                let jump = self.jump();
                let is_break = token.text == "break";
                let target =
                    self.targets.iter_mut().rev().find(|target| is_break || target.is_loop);
                let Some(target) = target else {
                    let message = format!("{} is outside of a loop", quote(token.text));
                    return Err(error(token.position, message));
                };
                match is_break {
                    true => target.breaks.push(jump),
                    false => target.continues.push(jump),
                }
                self.expect(';')
            }
            "goto" => {
                self.at += 1;
                let Some(label) = self.peek().filter(|label| label.is_name()) else {
                    return Err(self.expected("a label"));
                };
                self.at += 1;
                let jump = self.jump();
                self.gotos.push((jump, label));
                self.expect(';')
            }
            name if is_label => {
                let here = self.here();
                self.labels.insert(name, here);
                self.at += 2;
                // A label at the end of a block.
                if self.at < self.end { self.statement() } else { Ok(()) }
            }
            _ if self.starts_declaration() => self.declaration(),
            _ => {
                self.value()?;
                self.emit(Op::Pop);
                // The last statement of a text that was pasted may have no `;`.
                match self.at >= self.end && self.is_outside {
                    true => Ok(()),
                    false => self.expect(';'),
                }
            }
        }
    }

    fn block(&mut self) -> Result<()> {
        let (open, close) = (self.at, self.close()?);
        self.scoped(|compiler| {
            compiler.within((open + 1, close), |compiler| {
                while compiler.at < compiler.end {
                    compiler.statement()?;
                }
                Ok(())
            })
        })?;
        self.at = close + 1;
        Ok(())
    }

    /// Compiles a condition in parentheses.
    fn condition(&mut self) -> Result<()> {
        if !self.is('(') {
            return Err(self.expected("`(`"));
        }
        let (open, close) = (self.at, self.close()?);
        self.within((open + 1, close), |compiler| {
            compiler.value()?;
            if compiler.at < compiler.end { Err(compiler.expected("`)`")) } else { Ok(()) }
        })?;
        self.at = close + 1;
        Ok(())
    }

    fn branches(&mut self) -> Result<()> {
        let mut ends = Vec::new();
        let mut regions = Vec::new();
        // `else if` goes on in the same loop.
        loop {
            let position = self.position();
            self.at += 1;
            self.condition()?;
            let region = self.open_region();
            regions.push((region, self.at));
            if regions.len() > MAX_PARTS {
                let message = format!("an `if` has more than {MAX_PARTS} parts, the limit");
                return Err(error(position, message).topic(Topic::TooLarge));
            }
            let fails = self.branch(false, region, position);
            self.scoped(|compiler| compiler.statement())?;
            let has_else = self.is_word("else");
            if has_else {
                ends.push(self.jump());
            }
            let here = self.here();
            self.patch(fails, here);
            if !has_else {
                break;
            }
            self.at += 1;
            if !self.is_word("if") {
                self.scoped(|compiler| compiler.statement())?;
                break;
            }
        }
        let here = self.here();
        for end in ends {
            self.patch(end, here);
        }
        for (region, from) in regions {
            self.close_region(region, (from, self.at), false, Inside::Nothing);
        }
        Ok(())
    }

    /// Compiles what a loop repeats, and returns what leaves it.
    fn body(&mut self) -> Result<Target> {
        self.targets.push(Target { is_loop: true, ..Target::default() });
        let result = self.scoped(|compiler| compiler.statement());
        let target = self.targets.pop().unwrap_or_default();
        result.map(|()| target)
    }

    fn while_loop(&mut self) -> Result<()> {
        let (from, position) = (self.at, self.position());
        self.at += 1;
        let to = self.statement_end(from);
        let region = self.open_region();
        self.emit_at(Op::Enter(region), position);
        let head = self.here();
        let is_endless = self.is_endless((self.at + 1, self.close()?));
        match is_endless && !self.matters_in(from, to) {
            true => {
                self.skip_pair()?;
                self.push_unknown(Why::Not("this loop is left only when the program runs"));
            }
            false => self.condition()?,
        }
        let end = self.branch(false, region, position);
        let target = self.body()?;
        self.finish_loop(region, (from, self.at), (head, head), Some(end), target);
        Ok(())
    }

    /// Whether the condition of a loop is a constant other than zero, or is missing.
    fn is_endless(&self, (from, to): (usize, usize)) -> bool {
        let tokens = self.tokens().get(from..to).unwrap_or_default();
        let is_true = || matches!(tokens, [only] if matches!(only.text, "true" | "TRUE"));
        let value = || self.constant(from, to).and_then(|value| value.is_zero());
        tokens.is_empty() || is_true() || value() == Some(false)
    }

    fn do_loop(&mut self) -> Result<()> {
        let (from, position) = (self.at, self.position());
        self.at += 1;
        let region = self.open_region();
        self.emit_at(Op::Enter(region), position);
        let start = self.here();
        let target = self.body()?;
        if !self.is_word("while") {
            return Err(self.expected("`while`"));
        }
        self.at += 1;
        let next = self.here();
        let inside = if self.is('(') { (self.at + 1, self.close()?) } else { (self.at, self.at) };
        let is_once = self.constant(inside.0, inside.1).and_then(|value| value.is_zero());
        if is_once == Some(true) {
            // `do { … } while (0)` in macros runs once.
            self.skip_pair()?;
        } else {
            self.condition()?;
            let again = self.branch(true, region, position);
            self.patch(again, start);
        }
        // The `;` may be missing where a macro that has one is used with another one.
        self.take(';');
        self.finish_loop(region, (from, self.at), (start, next), None, target);
        Ok(())
    }

    fn for_loop(&mut self) -> Result<()> {
        let (from, position) = (self.at, self.position());
        let to = self.statement_end(from);
        self.at += 1;
        if !self.is('(') {
            return Err(self.expected("`(`"));
        }
        let (open, close) = (self.at, self.close()?);
        self.scoped(|compiler| {
            let region = compiler.open_region();
            // The part after the second `;` is compiled after the body.
            let (mut end, mut step) = (None, (close, close));
            let mut head = 0;
            compiler.within((open + 1, close), |compiler| {
                if compiler.starts_declaration() {
                    compiler.declaration()?;
                } else if !compiler.take(';') {
                    compiler.value()?;
                    compiler.emit(Op::Pop);
                    compiler.expect(';')?;
                }
                compiler.emit_at(Op::Enter(region), position);
                head = compiler.here();
                let condition = compiler.at;
                let after = (condition..close)
                    .find(|at| compiler.token(*at).is_some_and(|token| token.is(';')));
                let Some(after) = after else { return Err(compiler.expected("`;`")) };
                let is_endless = compiler.is_endless((condition, after));
                if is_endless && !compiler.matters_in(from, to) {
                    compiler.push_unknown(Why::Not("this loop is left only when the program runs"));
                } else if condition == after {
                    compiler.emit(Op::Push(Datum::int(1)));
                } else {
                    compiler.value()?;
                }
                compiler.at = after;
                compiler.expect(';')?;
                end = Some(compiler.branch(false, region, position));
                step = (compiler.at, close);
                Ok(())
            })?;
            compiler.at = close + 1;
            let target = compiler.body()?;
            let next = compiler.here();
            compiler.within(step, |compiler| {
                if compiler.at < compiler.end {
                    compiler.value()?;
                    compiler.emit(Op::Pop);
                }
                match compiler.at < compiler.end {
                    true => Err(compiler.expected("`)`")),
                    false => Ok(()),
                }
            })?;
            compiler.finish_loop(region, (from, compiler.at), (head, next), end, target);
            Ok(())
        })
    }

    /// Completes a loop: it goes on at its head, unless its end is the condition.
    fn finish_loop(
        &mut self,
        region: usize,
        range: (usize, usize),
        (head, next): (usize, usize),
        end: Option<usize>,
        target: Target,
    ) {
        if end.is_some() {
            let again = self.jump();
            self.patch(again, head);
        }
        let here = self.here();
        for at in target.breaks.into_iter().chain(end) {
            self.patch(at, here);
        }
        for at in target.continues {
            self.patch(at, next);
        }
        self.close_region(region, range, false, Inside::Loop);
    }

    fn switch(&mut self) -> Result<()> {
        let (from, position) = (self.at, self.position());
        self.at += 1;
        self.scoped(|compiler| {
            compiler.condition()?;
            // A name that no variable of the text has.
            let slot = compiler.declare("switch");
            let declare = Op::Declare {
                slot,
                kind: Kind::Other,
                initial: Initial::Given,
                is_const: false,
                name: "switch",
            };
            compiler.emit_at(declare, position);
            let region = compiler.open_region();
            let dispatch = compiler.jump();
            compiler.targets.push(Target::default());
            let result = compiler.scoped(|compiler| compiler.statement());
            let target = compiler.targets.pop().unwrap_or_default();
            result?;
            let mut ends = target.breaks;
            ends.push(compiler.jump());
            let here = compiler.here();
            compiler.patch(dispatch, here);
            for (label, to) in &target.cases {
                compiler.emit_at(Op::Variable(slot), position);
                compiler.emit_at(Op::Load, position);
                compiler.within(*label, |compiler| {
                    let start = compiler.here();
                    let result = compiler.value();
                    if result.is_err() || compiler.at < compiler.end {
                        compiler.code.instructions.truncate(start);
                        compiler.push_unknown(Why::Not("this label is not read"));
                    }
                    Ok(())
                })?;
                compiler.emit_at(Op::Binary(Binary::Equal), position);
                let found = compiler.branch(true, region, position);
                compiler.patch(found, *to);
            }
            if let Some(default) = target.default {
                let jump = compiler.jump();
                compiler.patch(jump, default);
            }
            let here = compiler.here();
            for end in ends {
                compiler.patch(end, here);
            }
            compiler.close_region(region, (from, compiler.at), false, Inside::Switch);
            Ok(())
        })
    }

    /// `case A:`, `default:`
    fn label_of_switch(&mut self) -> Result<()> {
        let is_default = self.is_word("default");
        self.at += 1;
        let start = self.at;
        let colon = (start..self.end).find(|at| self.token(*at).is_some_and(|token| token.is(':')));
        let Some(colon) = colon else { return Err(self.expected("`:`")) };
        let here = self.here();
        let Some(target) = self.targets.iter_mut().rev().find(|target| !target.is_loop) else {
            return Err(self.expected("a label of a `switch`"));
        };
        match is_default {
            true => target.default = Some(here),
            false => target.cases.push(((start, colon), here)),
        }
        self.at = colon + 1;
        if self.at < self.end { self.statement() } else { Ok(()) }
    }
}
