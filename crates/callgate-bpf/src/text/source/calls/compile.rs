//! The compiler of functions: variables, positions in the tokens, and which parts of the code are harmless.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::super::field::{Context, Fields};
use super::super::functions::is_count;
use super::super::integer::Value;
use super::code::{Code, Instruction, Op, Region, Slot};
use super::datum::{Datum, Why};
use super::kinds::{Kind, Records};
use super::outline::{OUTSIDE, Outline};
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, Topic, error};
use crate::token::{Token, quote, starts};

/// How deep statements and expressions may be nested, together.
const MAX_DEPTH: usize = 200;
/// How many instructions a function may have.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// How many variables that it changes are noted of a function that another one calls.
const MAX_WRITES: usize = 256;

/// Compiles functions.
pub(super) struct Compiler<'c, 't, 'a> {
    pub(super) outline: &'c Outline<'t, 'a>,
    pub(super) context: Context<'c, 'a>,
    pub(super) records: Records<'a>,
    /// The variables of the file.
    pub(super) globals: HashMap<&'a str, usize>,
    pub(super) global_count: usize,
    /// The names of variables that functions of the text change, or give to functions outside of it.
    pub(super) written: HashSet<&'a str>,
    pub(super) given_away: HashSet<&'a str>,
    /// What functions change, also through others; `None` if that is too much.
    writes: HashMap<usize, Option<Rc<[&'a str]>>>,
    /// The place in the tokens, and the end of what is read.
    pub(super) at: usize,
    pub(super) end: usize,
    depth: usize,
    pub(super) is_outside: bool,
    pub(super) code: Code<'a>,
    pub(super) scopes: Vec<HashMap<&'a str, Slot>>,
    pub(super) targets: Vec<Target>,
    pub(super) labels: HashMap<&'a str, usize>,
    pub(super) gotos: Vec<(usize, Token<'a>)>,
    /// Names in statements that were not read, and why.
    pub(super) unread: HashMap<&'a str, Diagnostic>,
}

/// What `break` and `continue` leave, and the labels of a `switch`.
#[derive(Default)]
pub(super) struct Target {
    pub(super) is_loop: bool,
    pub(super) breaks: Vec<usize>,
    pub(super) continues: Vec<usize>,
    /// The expressions of the labels, and where they lead.
    pub(super) cases: Vec<((usize, usize), usize)>,
    pub(super) default: Option<usize>,
}

impl<'c, 't, 'a> Compiler<'c, 't, 'a> {
    pub(super) fn new(outline: &'c Outline<'t, 'a>, context: Context<'c, 'a>) -> Self {
        let functions = outline.functions.iter().skip(1);
        let written = functions.flat_map(|function| function.writes.iter().copied()).collect();
        let mut compiler = Compiler {
            outline,
            context,
            records: Records::default(),
            globals: HashMap::new(),
            global_count: 0,
            written,
            given_away: HashSet::new(),
            writes: HashMap::new(),
            at: 0,
            end: 0,
            depth: 0,
            is_outside: false,
            code: Code::default(),
            scopes: Vec::new(),
            targets: Vec::new(),
            labels: HashMap::new(),
            gotos: Vec::new(),
            unread: HashMap::new(),
        };
        compiler.find_given_away();
        compiler
    }

    /// Finds the names that are arguments of functions outside the text.
    fn find_given_away(&mut self) {
        let outline = self.outline;
        let pairs = outline.pairs;
        for (at, name) in outline.called(0, pairs.tokens().len()) {
            let is_outer = outline.named(name).is_none() && (outline.role)(name).is_none();
            let Some(close) = pairs.partner(at + 1).filter(|_| is_outer && !is_count(name)) else {
                continue;
            };
            let mut next = at + 2;
            while next < close {
                let starts = pairs.before(next, 1).is_some_and(|token| token.is_any("(,"));
                let ends = pairs.get(next + 1).is_some_and(|token| token.is_any("),"));
                match pairs.get(next) {
                    Some(token) if token.is_name() && starts && ends => {
                        self.given_away.insert(token.text);
                    }
                    _ => {}
                }
                next = pairs.partner(next).filter(|to| *to > next).unwrap_or(next) + 1;
            }
        }
    }

    /// Compiles a function.
    pub(super) fn function(&mut self, index: usize) -> Result<Code<'a>> {
        let outline = self.outline;
        let Some(function) = outline.functions.get(index) else { return Ok(Code::default()) };
        self.is_outside = index == OUTSIDE;
        self.code = Code::default();
        self.scopes = vec![HashMap::new()];
        self.targets.clear();
        self.labels.clear();
        self.gotos.clear();
        self.depth = 0;
        let (from, to) = function.head;
        self.code.result = self.type_name((from, to)).unwrap_or(Kind::Other);
        (self.at, self.end) = function.parameters;
        self.parameters()?;
        for (from, to) in &function.bodies {
            (self.at, self.end) = (*from, *to);
            while self.at < self.end {
                self.statement()?;
            }
        }
        self.emit(Op::Push(Datum::unknown(Why::Not("the function returns no value"))));
        self.emit(Op::Return);
        for (at, label) in std::mem::take(&mut self.gotos) {
            match self.labels.get(label.text) {
                Some(target) => self.patch(at, *target),
                None => {
                    let message =
                        format!("the label {} is not in this function", quote(label.text));
                    return Err(error(label.position, message));
                }
            }
        }
        if self.code.instructions.len() > MAX_INSTRUCTIONS {
            return Err(error(function.position, "this function is too long to be read")
                .topic(Topic::TooLarge)
                .help("check that this is the right file"));
        }
        let mut code = std::mem::take(&mut self.code);
        code.trace(&|name| outline.matters(name));
        Ok(code)
    }

    pub(super) fn tokens(&self) -> &'t [Token<'a>] {
        self.outline.pairs.tokens()
    }

    pub(super) fn token(&self, at: usize) -> Option<Token<'a>> {
        self.tokens().get(at).filter(|_| at < self.end).copied()
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.token(self.at)
    }

    pub(super) fn position(&self) -> Position {
        let tokens = self.tokens();
        let last = || tokens.get(self.at).or(tokens.last());
        let token = self.peek();
        token.as_ref().or_else(last).map_or(Position::START, |token| token.position)
    }

    pub(super) fn is(&self, mark: char) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    pub(super) fn is_at(&self, distance: usize, mark: char) -> bool {
        self.token(self.at + distance).is_some_and(|token| token.is(mark))
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| token.is_name() && token.text == word)
    }

    pub(super) fn take(&mut self, mark: char) -> bool {
        let is_next = self.is(mark);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn starts(&self, marks: &str) -> bool {
        starts(self.tokens().get(self.at..self.end).unwrap_or_default(), marks)
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let message = match self.peek() {
            Some(token) => format!("expected {what}, found {}", quote(token.text)),
            None => format!("expected {what} before the end"),
        };
        error(self.position(), message)
    }

    /// The place of the mark that closes the one here.
    pub(super) fn close(&self) -> Result<usize> {
        let close = self.outline.pairs.partner(self.at).filter(|close| *close > self.at);
        close.filter(|close| *close < self.end).ok_or_else(|| self.expected("a pair of brackets"))
    }

    /// Skips what the mark here opens.
    pub(super) fn skip_pair(&mut self) -> Result<()> {
        self.at = self.close()? + 1;
        Ok(())
    }

    /// Reads a part of the tokens.
    pub(super) fn within<T>(
        &mut self,
        (from, to): (usize, usize),
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let outer = (self.at, self.end);
        (self.at, self.end) = (from, to);
        let result = read(self);
        (self.at, self.end) = outer;
        result
    }

    /// Reads what is nested one level deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!(
                "statements and expressions are nested more than {MAX_DEPTH} times here, the limit"
            );
            return Err(error(self.position(), message).topic(Topic::TooLarge));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn emit(&mut self, op: Op<'a>) {
        self.emit_at(op, self.position());
    }

    pub(super) fn emit_at(&mut self, op: Op<'a>, position: Position) {
        self.code.instructions.push(Instruction { op, position });
    }

    /// The place of the next instruction.
    pub(super) fn here(&self) -> usize {
        self.code.instructions.len()
    }

    /// Adds a jump that [`Compiler::patch`] completes.
    pub(super) fn jump(&mut self) -> usize {
        self.emit(Op::Jump(usize::MAX));
        self.here() - 1
    }

    pub(super) fn branch(&mut self, if_true: bool, region: usize, position: Position) -> usize {
        self.emit_at(Op::Branch { target: usize::MAX, if_true, region }, position);
        self.here() - 1
    }

    /// Completes a jump.
    pub(super) fn patch(&mut self, at: usize, to: usize) {
        if let Some(instruction) = self.code.instructions.get_mut(at) {
            match &mut instruction.op {
                Op::Jump(target) | Op::Branch { target, .. } => *target = to,
                _ => {}
            }
        }
    }

    /// The value of constant tokens.
    pub(super) fn constant(&self, from: usize, to: usize) -> Option<Value> {
        let tokens = self.tokens().get(from..to)?;
        Fields::outside(self.context).whole(tokens)
    }

    /// A variable with a name.
    pub(super) fn variable(&self, name: &str) -> Option<Slot> {
        let local = self.scopes.iter().rev().find_map(|scope| scope.get(name).copied());
        local.or_else(|| self.globals.get(name).map(|slot| Slot::Global(*slot)))
    }

    /// Enters a variable into the innermost scope.
    pub(super) fn declare(&mut self, name: &'a str) -> Slot {
        if self.is_outside {
            // A declaration of the same variable, such as `extern int x;`, does not count.
            if let (1, Some(known)) = (self.scopes.len(), self.globals.get(name)) {
                return Slot::Global(*known);
            }
            let slot = self.global_count;
            self.global_count += 1;
            match self.scopes.len() {
                1 => {
                    self.globals.insert(name, slot);
                }
                _ => self.enter(name, Slot::Global(slot)),
            }
            return Slot::Global(slot);
        }
        let slot = Slot::Local(self.code.slots);
        self.code.slots += 1;
        self.enter(name, slot);
        slot
    }

    fn enter(&mut self, name: &'a str, slot: Slot) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, slot);
        }
    }

    /// A region that [`Compiler::close_region`] completes.
    pub(super) fn open_region(&mut self) -> usize {
        self.code.regions.push(Region {
            join: usize::MAX,
            writes: Rc::from(Vec::new()),
            has_value: false,
            is_harmless: false,
            matters: true,
            is_loop: false,
        });
        self.code.regions.len() - 1
    }

    /// Completes a region: it has these tokens, and ends here in the code. `inside` is what `break` leaves in it.
    pub(super) fn close_region(
        &mut self,
        region: usize,
        (from, to): (usize, usize),
        has_value: bool,
        inside: Inside,
    ) {
        let writes = self.writes_in(from, to);
        let matters = self.matters_in(from, to);
        let is_left = self.is_left(from, to, inside);
        let join = self.here();
        if let Some(region) = self.code.regions.get_mut(region) {
            *region = Region {
                join,
                is_harmless: !matters && !is_left && writes.is_some(),
                writes: Rc::from(writes.unwrap_or_default()),
                has_value,
                matters,
                is_loop: inside == Inside::Loop,
            };
        }
    }

    /// Whether calls in a part of the text matter.
    pub(super) fn matters_in(&self, from: usize, to: usize) -> bool {
        self.outline.called(from, to).any(|(_, name)| self.outline.matters(name))
    }

    /// The variables that a part of the text may change; `None` if these are too many.
    pub(super) fn writes_in(&mut self, from: usize, to: usize) -> Option<Vec<(Slot, &'a str)>> {
        let outline = self.outline;
        let own: BTreeSet<&'a str> = outline.written(from, to).collect();
        let called: BTreeSet<usize> =
            outline.called(from, to).filter_map(|(_, name)| outline.named(name)).collect();
        let mut writes: Vec<(Slot, &'a str)> =
            own.into_iter().filter_map(|name| Some((self.variable(name)?, name))).collect();
        for function in called {
            let known = self.writes.entry(function).or_insert_with(|| {
                let all = outline.all_written(function);
                (all.len() <= MAX_WRITES).then(|| all.into_iter().collect())
            });
            for name in known.as_ref()?.iter() {
                if let Some(slot) = self.globals.get(name) {
                    writes.push((Slot::Global(*slot), name));
                }
            }
        }
        (writes.len() <= 4 * MAX_WRITES).then_some(writes)
    }

    /// Whether something leaves a part of the text, or enters it in the middle.
    pub(super) fn is_left(&self, from: usize, to: usize, inside: Inside) -> bool {
        let pairs = self.outline.pairs;
        let (mut loops, mut switches) = (from, from);
        match inside {
            Inside::Loop => loops = to,
            Inside::Switch => switches = to,
            Inside::Nothing => {}
        }
        for at in from..to {
            let Some(token) = pairs.get(at).filter(|token| token.is_name()) else { continue };
            match token.text {
                "for" | "while" | "do" => loops = loops.max(self.statement_end(at)),
                "switch" => switches = switches.max(self.statement_end(at)),
                "return" | "goto" => return true,
                "continue" if at >= loops => return true,
                "break" if at >= loops.max(switches) => return true,
                "case" | "default" if at >= switches && !pairs.is_member(at) => return true,
                _ => {
                    let is_start = pairs.before(at, 1).is_some_and(|before| before.is_any(";{})"));
                    if is_start && pairs.is(at + 1, ':') && !pairs.is(at + 2, ':') {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The end of the statement that begins at a place.
    pub(super) fn statement_end(&self, mut at: usize) -> usize {
        let pairs = self.outline.pairs;
        let after = |at: usize| pairs.partner(at).filter(|to| *to > at).map_or(at + 1, |to| to + 1);
        let mut ifs = 0usize;
        loop {
            let end = match pairs.get(at) {
                None => return at,
                Some(token) if token.is('{') => after(at),
                Some(token) if matches!(token.text, "if" | "for" | "while" | "switch") => {
                    ifs += usize::from(token.text == "if");
                    at = if pairs.is(at + 1, '(') { after(at + 1) } else { at + 1 };
                    continue;
                }
                Some(_) => {
                    let mut end = at;
                    while pairs.get(end).is_some_and(|token| !token.is_any(";}")) {
                        end = after(end);
                    }
                    end + usize::from(pairs.is(end, ';'))
                }
            };
            match pairs.get(end) {
                Some(next) if next.text == "else" && ifs > 0 => (at, ifs) = (end + 1, ifs - 1),
                _ => return end,
            }
        }
    }
}

/// What `break` and `continue` leave in a part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    Loop,
    Switch,
}
