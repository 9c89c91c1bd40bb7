//! The machine that runs a program, in each way that it may go.
//!
//! Its states are values: where a condition is not known, the machine goes on with two of them. A condition whose statement is
//! [harmless](super::code::Region) is skipped instead. A function of the text that makes no call that matters is tried; if it
//! depends on what is not known, its result is not known.

use super::super::integer::{Binary, Sure};
use super::code::{Code, Initial, Instruction, Op, Region, Slot};
use super::datum::{Builder, Datum, Place, Unknown, Why, converted};
use super::interface::Library;
use super::kinds::{Kind, Records};
use super::memory::{MAX_OBJECTS, Memory, Object};
use super::operate::{binary, moved, size, unary};
use super::outline::{OUTSIDE, Outline};
use super::state::{Flow, Frame, State, Turn};
use crate::advice::Advice;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, Topic, error};

/// The most steps of all states.
const MAX_STEPS: usize = 3_000_000;
/// The most steps of a function that is tried.
const MAX_TRIED_STEPS: usize = 20_000;
/// The most ways in which a program may go on.
const MAX_WAYS: usize = 2_000;

/// Runs a program.
pub(super) struct Machine<'m, 't, 'a, L> {
    pub(super) outline: &'m Outline<'t, 'a>,
    pub(super) records: &'m Records<'a>,
    /// The code of the functions that are reached, or why there is none.
    pub(super) codes: &'m [Option<Result<Code<'a>>>],
    /// The number of bytes of a pointer.
    pub(super) pointer: i128,
    pub(super) globals: usize,
    pub(super) steps: usize,
    pub(super) ways: usize,
    /// States that are not run yet.
    pub(super) open: Vec<State<'a, L>>,
    /// The first result, and the turns that led to it.
    pub(super) found: Option<(L, Vec<Turn<'a>>)>,
    /// The first end without a result.
    pub(super) without: Option<L>,
}

impl<'m, 't, 'a, L: Library> Machine<'m, 't, 'a, L> {
    pub(super) fn new(
        outline: &'m Outline<'t, 'a>,
        records: &'m Records<'a>,
        codes: &'m [Option<Result<Code<'a>>>],
        (pointer, globals): (i128, usize),
    ) -> Self {
        Machine {
            outline,
            records,
            codes,
            pointer,
            globals,
            steps: 0,
            ways: 1,
            open: Vec::new(),
            found: None,
            without: None,
        }
    }

    /// Runs the code outside functions and then a function. Returns the library after them.
    ///
    /// # Errors
    /// If the result depends on what is not known, or a limit is reached.
    pub(super) fn run(mut self, function: usize, library: L) -> Result<L> {
        let mut state = State {
            frames: Vec::new(),
            stack: Vec::new(),
            memory: Memory::default(),
            library,
            turns: Vec::new(),
            is_started: function == OUTSIDE,
        };
        for _ in 0..self.globals {
            let unset = Datum::unknown(Why::Not("the variable is not read"));
            state.memory.add(Object::new(unset, Kind::Other, "", false));
        }
        self.open.push(state.entered(OUTSIDE));
        while let Some(mut state) = self.open.pop() {
            loop {
                match self.step(&mut state)? {
                    Flow::On => {}
                    Flow::Drop => break,
                    Flow::End if !state.is_started => self.start(&mut state, function)?,
                    Flow::End => {
                        self.end(state)?;
                        break;
                    }
                }
            }
        }
        match self.found.map(|(library, _)| library).or(self.without) {
            Some(library) => Ok(library),
            None => {
                let position = self.outline.functions.get(function).map(|one| one.position);
                Err(error(position.unwrap_or(Position::START), "this function does not end"))
            }
        }
    }

    /// Enters the function that makes the filter, about whose arguments nothing is known.
    fn start(&mut self, state: &mut State<'a, L>, function: usize) -> Result<()> {
        state.is_started = true;
        state.frames.clear();
        let code = match self.codes.get(function) {
            Some(Some(Ok(code))) => code,
            Some(Some(Err(error))) => return Err(error.clone()),
            _ => return Ok(()),
        };
        let arguments = code.parameters.iter();
        let arguments = arguments.map(|(name, _)| Datum::unknown(Why::Name(name)));
        self.enter(state, function, code, arguments.collect(), None)
    }

    /// Notes the end of a state.
    fn end(&mut self, state: State<'a, L>) -> Result<()> {
        if !state.library.has_result() {
            self.without.get_or_insert(state.library);
            return Ok(());
        }
        match &self.found {
            None => self.found = Some((state.library, state.turns)),
            Some((library, _)) if library.is_same(&state.library) => {}
            Some((_, turns)) => {
                let pairs = turns.iter().zip(&state.turns);
                let is_other = |(one, other): &(&Turn<'a>, &Turn<'a>)| one.is_jump != other.is_jump;
                let turn = pairs.clone().find(is_other).map(|(turn, _)| *turn);
                let turn = turn.or(state.turns.last().copied()).or(turns.last().copied());
                return Err(self.depends(turn));
            }
        }
        Ok(())
    }

    /// The error for results that differ.
    fn depends(&self, turn: Option<Turn<'a>>) -> Diagnostic {
        let Some(turn) = turn else {
            return error(Position::START, "the filter depends on what is not known");
        };
        let message = format!("the filter depends on this condition, and {}", turn.unknown.text());
        error(turn.position, message).help(advice(&turn.unknown))
    }

    /// Whether a call that matters may follow.
    fn leads(&self, state: &State<'a, L>, also: Option<usize>) -> bool {
        let leads = |frame: &Frame<'a, L>, at: usize| {
            self.code(frame.function)
                .is_none_or(|code| code.leads.get(at).copied().unwrap_or(false))
        };
        let last = state.frames.last();
        !state.is_started
            || state.frames.first().is_some_and(|frame| frame.function == OUTSIDE)
            || state.frames.iter().any(|frame| leads(frame, frame.at))
            || last.zip(also).is_some_and(|(frame, at)| leads(frame, at))
    }

    fn code(&self, function: usize) -> Option<&'m Code<'a>> {
        match self.codes.get(function) {
            Some(Some(Ok(code))) => Some(code),
            _ => None,
        }
    }

    pub(super) fn spend(&mut self, steps: usize, position: Position) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps <= MAX_STEPS {
            return Ok(());
        }
        let message = format!("the program takes more than {MAX_STEPS} steps to here, the limit");
        let help = "write the rules without these loops and conditions";
        Err(error(position, message).help(Advice::ReadProcessOr(help)).topic(Topic::TooLarge))
    }

    fn step(&mut self, state: &mut State<'a, L>) -> Result<Flow> {
        let Some(frame) = state.frames.last_mut() else { return Ok(Flow::End) };
        let (function, at, base) = (frame.function, frame.at, frame.base);
        let instruction =
            self.code(function).and_then(|code| Some((code, code.instructions.get(at)?)));
        let Some((code, Instruction { op, position })) = instruction else {
            return Ok(Flow::End);
        };
        frame.at += 1;
        let position = *position;
        self.spend(1, position)?;
        match op {
            Op::Push(datum) => state.stack.push(datum.clone()),
            Op::Variable(slot) => {
                let object = object_of(*slot, base);
                state.stack.push(Datum::Address(Place { object, path: Vec::new() }));
            }
            Op::Load => {
                let address = state.pop();
                let value = self.load(state, address);
                state.stack.push(value);
            }
            Op::Temporary => {
                let value = state.pop();
                let kind = match &value {
                    Datum::Record(record, _) => Kind::Record(*record),
                    _ => Kind::Other,
                };
                self.check(state, 1, position)?;
                let object = state.memory.add(Object::new(value, kind, "", false));
                state.stack.push(Datum::Address(Place { object, path: Vec::new() }));
            }
            Op::Index => {
                let (index, base) = (state.pop(), state.pop());
                state.stack.push(element(base, index));
            }
            Op::Field(name) => {
                let address = state.pop();
                let field = self.field(state, address, name);
                state.stack.push(field);
            }
            Op::Member(name) => {
                let value = match state.pop() {
                    Datum::Record(record, parts) => {
                        let at = self.records.field(record, name).map(|(at, _)| at);
                        let part = at.and_then(|at| parts.get(at)).cloned();
                        part.unwrap_or(Datum::unknown(Why::Name(name)))
                    }
                    unknown @ Datum::Unknown(_) => unknown,
                    _ => Datum::unknown(Why::Name(name)),
                };
                state.stack.push(value);
            }
            Op::Store(operator) => {
                let (value, address) = (state.pop(), state.pop());
                let value = match (operator, &address) {
                    (None, _) => value,
                    (Some(operator), Datum::Address(place)) => {
                        let old = state.read(place);
                        binary(*operator, old, value)
                    }
                    (Some(_), _) => Datum::unknown(Why::Not("the variable is not known")),
                };
                let value = self.store(state, address, value, position)?;
                state.stack.push(value);
            }
            Op::Bump { by, is_prefix } => {
                let address = state.pop();
                let old = match &address {
                    Datum::Address(place) => state.read(place),
                    _ => Datum::unknown(Why::Not("the variable is not known")),
                };
                let new = match old.clone() {
                    Datum::Address(place) => {
                        let moved = moved(place, *by);
                        let not = || Datum::unknown(Why::Not("this pointer is not known"));
                        moved.map_or_else(not, Datum::Address)
                    }
                    old => binary(Binary::Add, old, Datum::int(*by)),
                };
                let new = self.store(state, address, new, position)?;
                state.stack.push(if *is_prefix { new } else { old });
            }
            Op::Unary(operator) => {
                let operand = state.pop();
                state.stack.push(unary(*operator, operand));
            }
            Op::Binary(operator) => {
                let (right, left) = (state.pop(), state.pop());
                state.stack.push(binary(*operator, left, right));
            }
            Op::Truth => {
                let value = state.pop();
                let truth = match (value.truth(), value) {
                    (Some(holds), _) => Datum::int(i128::from(holds)),
                    (None, Datum::Unknown(unknown)) => Datum::Unknown(unknown),
                    (None, _) => Datum::unknown(Why::Not("this value is not known")),
                };
                state.stack.push(truth);
            }
            Op::Cast(kind) => {
                let value = state.pop();
                state.stack.push(cast(value, kind));
            }
            Op::Count => {
                let address = state.pop();
                let array = match &address {
                    Datum::Address(place) => state.memory.read(place),
                    _ => None,
                };
                state.stack.push(match array {
                    Some(Datum::Array(parts)) => size(parts.len()),
                    _ => Datum::unknown(Why::Not("the size of this array is not known")),
                });
            }
            Op::Size => {
                let address = state.pop();
                let bytes = self.bytes(state, &address);
                state.stack.push(bytes);
            }
            Op::Pop => drop(state.pop()),
            Op::Jump(target) => {
                if *target <= at && !self.leads(state, Some(*target)) {
                    return Ok(Flow::End);
                }
                if *target <= at && self.is_tried_too_long(state) {
                    return self.abandon(state);
                }
                state.jump(*target);
            }
            Op::Branch { target, if_true, region } => {
                let value = state.pop();
                match value.truth() {
                    Some(holds) if holds == *if_true => {
                        if *target <= at && self.is_tried_too_long(state) {
                            return self.abandon(state);
                        }
                        state.jump(*target);
                    }
                    Some(_) => {}
                    None => {
                        let unknown = match value {
                            Datum::Unknown(unknown) => unknown,
                            _ => Unknown { why: Why::Not("this value is not known") },
                        };
                        let turn = Turn { position, unknown, is_jump: true };
                        let Some(decided) = code.regions.get(*region) else {
                            return Ok(Flow::End);
                        };
                        return self.fork(state, decided, (*region, *target), turn);
                    }
                }
            }
            Op::Enter(region) => {
                if let Some(frame) = state.frames.last_mut() {
                    frame.repeated.retain(|known| known != region);
                }
            }
            Op::Call { function, arguments } => {
                return self.call(state, function, *arguments, position);
            }
            Op::Return => {
                let value = state.pop().conform(&code.result);
                let Some(frame) = state.frames.pop() else { return Ok(Flow::End) };
                state.stack.truncate(frame.height);
                if state.frames.is_empty() {
                    return Ok(Flow::End);
                }
                state.stack.push(value);
            }
            Op::Declare { slot, kind, initial, is_const, name } => {
                let value = match initial {
                    Initial::Given => state.pop().conform(kind),
                    Initial::Zero | Initial::Unset => {
                        self.spend(self.records.size(kind).0, position)?;
                        let with = match initial {
                            Initial::Zero => Datum::int(0),
                            _ => Datum::unknown(Why::Name(name)),
                        };
                        Datum::filled(self.records, kind, &with)
                    }
                };
                let new = Object::new(value, kind.clone(), name, *is_const);
                if let Some(object) = state.memory.objects.get_mut(object_of(*slot, base)) {
                    *object = new;
                }
            }
            Op::Build { shape, kind, values } => {
                let values = state.popped(*values);
                let mut builder = Builder { records: self.records, values: values.into_iter() };
                let value = builder.build(shape, kind);
                self.spend(value.parts().map_or(0, |parts| parts.len()), position)?;
                state.stack.push(value);
            }
            Op::Forget(slots) => {
                for (slot, _) in slots.iter() {
                    state.memory.forget(object_of(*slot, base));
                }
            }
            Op::Halt => return Ok(Flow::End),
        }
        Ok(Flow::On)
    }

    pub(super) fn check(
        &mut self,
        state: &State<'a, L>,
        more: usize,
        position: Position,
    ) -> Result<()> {
        if state.memory.objects.len().saturating_add(more) <= MAX_OBJECTS {
            return Ok(());
        }
        let message = format!("the program has more than {MAX_OBJECTS} variables here, the limit");
        Err(error(position, message).topic(Topic::TooLarge))
    }

    /// The value at an address; of an array, the address of its first element.
    fn load(&self, state: &State<'a, L>, address: Datum<'a>) -> Datum<'a> {
        match address {
            Datum::Address(mut place) => match state.read(&place) {
                Datum::Array(_) => {
                    place.path.push(0);
                    Datum::Address(place)
                }
                value => value,
            },
            Datum::Unknown(unknown) => Datum::Unknown(unknown),
            _ => Datum::unknown(Why::Not("what this pointer leads to is not known")),
        }
    }

    fn field(&self, state: &State<'a, L>, address: Datum<'a>, name: &'a str) -> Datum<'a> {
        match address {
            Datum::Address(mut place) => match state.memory.read(&place) {
                Some(Datum::Record(record, _)) => match self.records.field(record, name) {
                    Some((at, _)) => {
                        place.path.push(at);
                        Datum::Address(place)
                    }
                    None => Datum::unknown(Why::Name(name)),
                },
                Some(Datum::Unknown(unknown)) => Datum::Unknown(unknown),
                _ => Datum::unknown(Why::Name(name)),
            },
            _ => Datum::unknown(Why::Name(name)),
        }
    }

    fn store(
        &mut self,
        state: &mut State<'a, L>,
        address: Datum<'a>,
        value: Datum<'a>,
        position: Position,
    ) -> Result<Datum<'a>> {
        let Datum::Address(place) = address else { return Ok(value) };
        let value = value.conform(&state.memory.kind(self.records, &place));
        let copied = state.memory.write(&place, value.clone());
        self.spend(copied, position)?;
        Ok(value)
    }

    /// The number of bytes of what is at an address.
    fn bytes(&self, state: &State<'a, L>, address: &Datum<'a>) -> Datum<'a> {
        let Datum::Address(place) = address else {
            return Datum::unknown(Why::Not("the size of this is not known"));
        };
        let kind = state.memory.kind(self.records, place);
        let (count, element) = match (state.memory.read(place), kind) {
            (Some(Datum::Array(parts)), Kind::Array(element, _)) => {
                (parts.len(), (*element).clone())
            }
            (Some(Datum::Array(parts)), _) => (parts.len(), Kind::Other),
            (_, Kind::Array(..)) => {
                return Datum::unknown(Why::Not("the size of this array is not known"));
            }
            (_, kind) => (1, kind),
        };
        let one = Records::bytes(&element, self.pointer).and_then(|one| usize::try_from(one).ok());
        match one.and_then(|one| one.checked_mul(count)) {
            Some(bytes) => size(bytes),
            None => Datum::Bytes(count, element),
        }
    }

    /// Goes on in both ways, unless the condition does not matter.
    fn fork(
        &mut self,
        state: &mut State<'a, L>,
        decided: &Region<'a>,
        (region, target): (usize, usize),
        turn: Turn<'a>,
    ) -> Result<Flow> {
        let position = turn.position;
        let base = state.frames.last().map_or(0, |frame| frame.base);
        let forget = |state: &mut State<'a, L>| {
            for (slot, _) in decided.writes.iter() {
                state.memory.forget(object_of(*slot, base));
            }
        };
        if decided.is_harmless {
            forget(state);
            if decided.has_value {
                state.stack.push(Datum::Unknown(turn.unknown));
            }
            state.jump(decided.join);
            return Ok(Flow::On);
        }
        if state.frames.iter().any(|frame| frame.before.is_some()) {
            return self.abandon(state);
        }
        if !self.leads(state, Some(target)) {
            return Ok(Flow::End);
        }
        if decided.is_loop {
            if decided.matters {
                let why = turn.unknown.text();
                let message = format!("this loop changes the filter, and {why}");
                return Err(error(position, message).help(advice(&turn.unknown)));
            }
            forget(state);
            let frame = state.frames.last_mut();
            let Some(frame) = frame.filter(|frame| !frame.repeated.contains(&region)) else {
                return Ok(Flow::Drop);
            };
            frame.repeated.push(region);
        }
        self.ways += 1;
        if self.ways > MAX_WAYS {
            let message = format!(
                "the program may go on in more than {MAX_WAYS} ways before this, the limit, and {}",
                turn.unknown.text()
            );
            return Err(error(position, message)
                .help(advice(&turn.unknown))
                .topic(Topic::TooLarge));
        }
        self.spend(state.memory.objects.len() + state.stack.len(), position)?;
        let mut other = state.clone();
        other.turns.push(turn);
        other.jump(target);
        self.open.push(other);
        state.turns.push(Turn { is_jump: false, ..turn });
        Ok(Flow::On)
    }

    fn is_tried_too_long(&self, state: &State<'a, L>) -> bool {
        let mut tried = state.frames.iter().filter_map(|frame| frame.before.as_ref());
        tried.any(|attempt| self.steps.saturating_sub(attempt.steps) > MAX_TRIED_STEPS)
    }

    /// Goes back to the call of the function that is tried. Its result is not known.
    pub(super) fn abandon(&mut self, state: &mut State<'a, L>) -> Result<Flow> {
        let attempt = state.frames.iter().find_map(|frame| frame.before.clone());
        let Some(attempt) = attempt else { return Ok(Flow::End) };
        let turns = std::mem::take(&mut state.turns);
        *state = attempt.state.clone();
        state.turns = turns;
        self.spend(state.memory.objects.len(), attempt.position)?;
        self.outside(state, attempt.function, attempt.arguments, attempt.position)
    }
}

fn object_of(slot: Slot, base: usize) -> usize {
    match slot {
        Slot::Local(index) => base + index,
        Slot::Global(index) => index,
    }
}

/// The address of an element.
fn element<'a>(base: Datum<'a>, index: Datum<'a>) -> Datum<'a> {
    match (base, index) {
        (Datum::Address(place), Datum::Int(value)) if value.sure == Sure::Yes => {
            let not = || Datum::unknown(Why::Not("this element does not exist"));
            moved(place, value.number).map_or_else(not, Datum::Address)
        }
        (Datum::Unknown(unknown), _) | (_, Datum::Unknown(unknown)) => Datum::Unknown(unknown),
        _ => Datum::unknown(Why::Not("this element is not known")),
    }
}

/// The value after a cast.
fn cast<'a>(value: Datum<'a>, kind: &Kind) -> Datum<'a> {
    /// The largest number that every type of integers has.
    const EVERYWHERE: i128 = 127;
    match (value, kind) {
        (Datum::Int(value), Kind::Int(own)) => Datum::Int(converted(value, *own)),
        (Datum::Int(value), Kind::Other) if !(0..=EVERYWHERE).contains(&value.number) => {
            Datum::unknown(Why::Not("the type of this cast is not known"))
        }
        (Datum::Bytes(..), Kind::Int(_)) => {
            Datum::unknown(Why::Not("the number of bytes is not known"))
        }
        (value, _) => value,
    }
}

/// What to do about a value that is not known.
pub(super) fn advice(unknown: &Unknown<'_>) -> Advice {
    match unknown.why {
        Why::Name(name) => Advice::ValueOf(name.to_owned()),
        _ => Advice::ReadProcessOr("write the value that is meant"),
    }
}
