//! Calls of functions: those of the text are entered, the library answers its own, and what others do is not known.

use std::rc::Rc;

use super::super::integer::{Sure, Type, Value};
use super::code::Code;
use super::datum::{Datum, Why};
use super::interface::{Answer, Argument, Call, Library};
use super::kinds::Kind;
use super::machine::{Machine, advice};
use super::memory::Object;
use super::state::{Attempt, Flow, Frame, State};
use crate::advice::Advice;
use crate::cursor::Result;
use crate::diagnostic::{Position, Topic, error};
use crate::token::quote;

/// How deep functions may call each other.
const MAX_CALLS: usize = 30;
/// The most elements and members of an argument that are passed to a library.
const MAX_PASSED: usize = 64;

impl<'a, L: Library> Machine<'_, '_, 'a, L> {
    pub(super) fn call(
        &mut self,
        state: &mut State<'a, L>,
        function: &'a str,
        count: usize,
        position: Position,
    ) -> Result<Flow> {
        let Some(index) = self.outline.named(function) else {
            return match L::role(function) {
                Some(_) => self.library(state, function, count, position),
                None => self.outside(state, function, count, position),
            };
        };
        let matters = self.outline.matters(function);
        let code = match self.codes.get(index) {
            Some(Some(Ok(code))) => code,
            Some(Some(Err(error))) if matters => return Err(error.clone()),
            _ => return self.outside(state, function, count, position),
        };
        let is_tried = state.frames.iter().any(|frame| frame.before.is_some());
        if state.frames.len() >= MAX_CALLS {
            if is_tried {
                return self.abandon(state);
            }
            let message = format!(
                "functions call each other more than {MAX_CALLS} times deep here, the limit"
            );
            return Err(error(position, message).topic(Topic::TooLarge));
        }
        let before = (!matters && !is_tried).then(|| {
            let (state, steps) = (state.clone(), self.steps);
            Rc::new(Attempt { state, function, arguments: count, position, steps })
        });
        if before.is_some() {
            self.spend(state.memory.objects.len(), position)?;
        }
        let arguments = state.popped(count);
        self.enter(state, index, code, arguments, before)?;
        Ok(Flow::On)
    }

    /// Enters a function with its arguments.
    pub(super) fn enter(
        &mut self,
        state: &mut State<'a, L>,
        function: usize,
        code: &Code<'a>,
        arguments: Vec<Datum<'a>>,
        before: Option<Rc<Attempt<'a, L>>>,
    ) -> Result<()> {
        let position = self.outline.functions.get(function).map(|function| function.position);
        let position = position.unwrap_or(Position::START);
        self.check(state, code.slots, position)?;
        self.spend(code.slots, position)?;
        let base = state.memory.objects.len();
        let mut arguments = arguments.into_iter();
        let mut parameters = code.parameters.iter();
        for _ in 0..code.slots {
            let (name, kind) = match parameters.next() {
                Some((name, kind)) => (*name, kind.clone()),
                None => ("", Kind::Other),
            };
            let value = arguments.next().unwrap_or(Datum::unknown(Why::Name(name)));
            state.memory.add(Object::new(value.conform(&kind), kind, name, false));
        }
        let height = state.stack.len();
        let repeated = Vec::new();
        state.frames.push(Frame { function, at: 0, base, height, repeated, before });
        Ok(())
    }

    /// A call of a function of the library.
    pub(super) fn library(
        &mut self,
        state: &mut State<'a, L>,
        function: &'a str,
        count: usize,
        position: Position,
    ) -> Result<Flow> {
        let given = state.popped(count);
        let mut budget = MAX_PASSED;
        let arguments: Vec<Argument> =
            given.iter().map(|datum| self.argument(state, datum, &mut budget, 0)).collect();
        self.spend(MAX_PASSED - budget.min(MAX_PASSED), position)?;
        if L::writes(function) {
            for datum in &given {
                if let Datum::Address(_) = datum {
                    let (_, steps) = state.memory.give_away(datum);
                    self.spend(steps, position)?;
                }
            }
        }
        let call = Call { function, arguments: &arguments, position };
        let answer = state.library.call(&call)?;
        state.stack.push(match answer {
            Answer::Number(number) => Datum::int(i128::from(number)),
            Answer::Unsigned(number) => Datum::Int(Value::of(i128::from(number), Type::UNSIGNED)),
            Answer::Absent(known) => Datum::Absent(known),
            Answer::Handle(handle) => Datum::Handle(handle),
            Answer::Unknown => Datum::unknown(Why::Result(function)),
        });
        Ok(Flow::On)
    }

    /// A call of a function outside the text.
    pub(super) fn outside(
        &mut self,
        state: &mut State<'a, L>,
        function: &'a str,
        count: usize,
        position: Position,
    ) -> Result<Flow> {
        let given = state.popped(count);
        for datum in &given {
            let (has_handle, steps) = state.memory.give_away(datum);
            self.spend(steps, position)?;
            if has_handle {
                let name = match function {
                    "" => "a function that is called through a pointer".to_owned(),
                    name => quote(name),
                };
                let message = format!("{name} gets the filter and may change it, but is not read");
                let help = "add its definition to the text";
                return Err(error(position, message).help(Advice::ReadProcessOr(help)));
            }
        }
        if let Some(index) = self.outline.named(function) {
            let written = self.outline.all_written(index);
            self.spend(written.len(), position)?;
            for object in state.memory.objects.iter_mut().take(self.globals) {
                if !object.is_const && written.contains(object.name) {
                    object.value = Datum::unknown(Why::Changed(object.name));
                }
            }
        }
        state.stack.push(Datum::unknown(Why::Result(function)));
        Ok(Flow::On)
    }

    /// A value as the library gets it. The recursion ends with the depth of types.
    pub(super) fn argument(
        &self,
        state: &State<'a, L>,
        datum: &Datum<'a>,
        budget: &mut usize,
        depth: usize,
    ) -> Argument {
        if *budget == 0 || depth > 4 {
            return Argument::Other;
        }
        *budget -= 1;
        let mut of_parts = |parts: &[Datum<'a>]| -> Vec<Argument> {
            parts.iter().map(|part| self.argument(state, part, budget, depth + 1)).collect()
        };
        match datum {
            Datum::Int(value) if value.sure <= Sure::Low => Argument::Number(value.number),
            Datum::Int(_) => {
                let why = "the value depends on the type of a constant".to_owned();
                Argument::Unknown(why, Advice::ReadProcessOr("write the value that is meant"))
            }
            Datum::Absent(known) => Argument::Absent(*known),
            Datum::Handle(handle) => Argument::Handle(*handle),
            Datum::Text(text) => Argument::Text((*text).to_owned()),
            Datum::Record(_, parts) => Argument::Record(of_parts(parts)),
            Datum::Unknown(unknown) => Argument::Unknown(unknown.text(), advice(unknown)),
            Datum::Address(place) => {
                let mut outer = place.clone();
                let last = outer.path.pop();
                let array = last.and_then(|last| match state.memory.read(&outer) {
                    Some(Datum::Array(parts)) => {
                        let to = parts.len().min(last.saturating_add(MAX_PASSED));
                        Some(of_parts(parts.get(last..to).unwrap_or_default()))
                    }
                    _ => None,
                });
                match (array, state.memory.read(place)) {
                    (Some(parts), _) => Argument::Array(parts),
                    (None, Some(Datum::Unknown(unknown))) => {
                        Argument::Unknown(unknown.text(), advice(&unknown))
                    }
                    (None, Some(value)) => Argument::Array(of_parts(&[value])),
                    (None, None) => Argument::Other,
                }
            }
            Datum::Array(_) | Datum::Function | Datum::Bytes(..) => Argument::Other,
        }
    }
}
