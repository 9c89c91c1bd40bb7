//! Runs the statements of a program.

use std::collections::HashMap;

use super::binding::MODULES;
use super::lines::{Kind, Line, Token};
use super::tokens::{colon, outside, parameters, path};
use crate::diagnostics::quote::shorten;
use crate::libseccomp_c::Calls;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position, Topic};
use callgate_core::Arch;

/// The most statements that are run, and values and bytes of strings that they use.
pub(super) const MAX_STEPS: usize = 200_000;
/// How deep blocks, calls and parentheses may be nested.
pub(super) const MAX_DEPTH: usize = 40;
/// How deep lists may be nested.
const MAX_LISTS: usize = 8;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(i128),
    Text(String),
    List(Vec<Value>),
    /// A filter.
    Filter(usize),
    /// A comparison of an argument: its number, the operator, and two values.
    Comparison([i128; 4]),
    None,
    /// What only a run shows: why.
    Unknown(String),
}

impl Value {
    pub(super) fn has_filter(&self) -> bool {
        match self {
            Value::Filter(_) => true,
            Value::List(items) => items.iter().any(Value::has_filter),
            _ => false,
        }
    }

    /// How much it takes to copy it. Lists are nested up to [`MAX_LISTS`] deep.
    fn size(&self) -> usize {
        match self {
            Value::List(items) => 1 + items.iter().map(Value::size).sum::<usize>(),
            Value::Text(text) => 1 + text.len() / 64,
            _ => 1,
        }
    }

    fn depth(&self) -> usize {
        match self {
            Value::List(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// A list of these items.
    pub(super) fn list(items: Vec<Value>) -> Value {
        let list = Value::List(items);
        match list.depth() > MAX_LISTS {
            true => Value::Unknown(format!("lists are nested more than {MAX_LISTS} deep")),
            false => list,
        }
    }
}

/// Why a run does not go on.
pub(super) enum Stop {
    /// An exception, which the program may catch.
    Raised(Diagnostic),
    /// The program is not read.
    Refused(Diagnostic),
}

impl From<Diagnostic> for Stop {
    fn from(error: Diagnostic) -> Stop {
        Stop::Refused(error)
    }
}

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Return(Value),
    Break,
    Continue,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// Its parameters, with the tokens of their defaults.
    pub(super) parameters: Vec<(String, Vec<Token>)>,
    /// The lines of its body.
    pub(super) body: (usize, usize),
    pub(super) position: Position,
}

/// A program while it runs.
pub(super) struct Run<'p> {
    pub(super) lines: &'p [Line],
    pub(super) arch: Arch,
    pub(super) calls: Calls,
    pub(super) functions: HashMap<String, Function>,
    /// What names stand for that are imported: `seccomp.ALLOW`.
    pub(super) imported: HashMap<String, String>,
    /// Whether all names of the module are imported.
    pub(super) imports_all: bool,
    /// The values of names: those of the program, then those of the functions that run.
    pub(super) scopes: Vec<HashMap<String, Value>>,
    /// Whether the descriptor of a standard stream was taken as the usual one: where.
    pub(super) assumed: Vec<Diagnostic>,
    steps: usize,
    pub(super) depth: usize,
}

impl<'p> Run<'p> {
    pub(super) fn new(lines: &'p [Line], arch: Arch, calls: Calls) -> Run<'p> {
        let mut run = Run {
            lines,
            arch,
            calls,
            functions: HashMap::new(),
            imported: HashMap::new(),
            imports_all: false,
            scopes: vec![HashMap::new()],
            assumed: Vec::new(),
            steps: 0,
            depth: 0,
        };
        run.find_functions();
        run
    }

    /// All functions of the text, also those of classes, and all imports: programs import inside of `try` and of functions.
    fn find_functions(&mut self) {
        for (at, line) in self.lines.iter().enumerate() {
            let tokens: Vec<&Token> =
                line.tokens.iter().skip_while(|one| one.name() == Some("async")).collect();
            match tokens.as_slice() {
                [def, name, ..] if def.name() == Some("def") => {
                    let Some(name) = name.name() else { continue };
                    let header =
                        line.tokens.get(line.tokens.len() - tokens.len()..).unwrap_or_default();
                    let function = Function {
                        parameters: parameters(header),
                        body: (at + 1, self.end_of_block(at)),
                        position: line.position(),
                    };
                    self.functions.entry(name.to_owned()).or_insert(function);
                }
                [word, ..] if matches!(word.name(), Some("import" | "from")) => self.import(line),
                _ => {}
            }
        }
    }

    /// The functions that make filters, in their order.
    pub(super) fn makers(&self) -> Vec<(&str, &Function)> {
        let makes = |function: &Function| {
            let (start, end) = function.body;
            let lines = self.lines.get(start..end).unwrap_or_default();
            lines
                .iter()
                .flat_map(|line| &line.tokens)
                .any(|token| token.name() == Some("SyscallFilter"))
        };
        let mut found: Vec<(&str, &Function)> = self
            .functions
            .iter()
            .filter(|(_, function)| makes(function))
            .map(|(name, function)| (name.as_str(), function))
            .collect();
        found.sort_by_key(|(_, function)| function.position);
        found
    }

    /// Runs the assignments at the top that are not about filters.
    pub(super) fn constants(&mut self) {
        for (at, line) in self.lines.iter().enumerate() {
            if line.begins("class") {
                self.members(at, self.end_of_block(at));
            }
            let is_plain =
                line.indent == 0 && line.tokens.get(1).is_some_and(|token| token.is('='));
            let is_filter = line.tokens.iter().any(|token| token.name() == Some("SyscallFilter"));
            if is_plain && !is_filter {
                // One whose value is not read is not known.
                let _ = self.simple(&line.tokens);
            }
        }
    }

    /// The end of the block after a line.
    pub(super) fn end_of_block(&self, at: usize) -> usize {
        let indent = self.lines.get(at).map_or(0, |line| line.indent);
        let inside = self.lines.iter().skip(at + 1).take_while(|line| line.indent > indent).count();
        at + 1 + inside
    }

    /// Runs lines.
    pub(super) fn block(&mut self, (start, end): (usize, usize)) -> Result<Flow> {
        let mut at = start;
        while at < end {
            let Some(line) = self.lines.get(at) else { break };
            self.spend(1, line.position())?;
            let (next, flow) = self.statement(at, line)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
            at = next.max(at + 1);
        }
        Ok(Flow::Next)
    }

    fn spend(&mut self, steps: usize, position: Position) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps <= MAX_STEPS {
            return Ok(());
        }
        let message = format!("the program needs more than {MAX_STEPS} steps, the limit");
        let error = Diagnostic::error(Some(position), message);
        let help = "give only the functions that make the filter";
        Err(Stop::Refused(error.help(help).topic(Topic::TooLarge)))
    }

    /// A copy of the value of a name.
    pub(super) fn copy(&mut self, name: &str, position: Position) -> Result<Option<Value>> {
        let Some(size) = self.get(name).map(Value::size) else { return Ok(None) };
        self.spend(size, position)?;
        Ok(self.get(name).cloned())
    }

    /// A block or a call inside of another.
    pub(super) fn nested<T>(
        &mut self,
        position: Position,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("blocks and calls are nested more than {MAX_DEPTH} deep");
            let error = Diagnostic::error(Some(position), message);
            let error = error.help("write them flatter, or call no function from itself");
            return Err(Stop::Refused(error.topic(Topic::TooLarge)));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    /// A statement; returns the line after it.
    fn statement(&mut self, at: usize, line: &'p Line) -> Result<(usize, Flow)> {
        let end = self.end_of_block(at);
        let word = line.tokens.first().and_then(Token::name).unwrap_or_default();
        let flow = match word {
            "class" => {
                self.members(at, end);
                return Ok((end, Flow::Next));
            }
            "def" | "async" | "import" | "from" => return Ok((end, Flow::Next)),
            "if" => return self.conditional(at),
            "for" => return self.for_loop(at, line),
            "while" => {
                self.skip((at, end), "how often this loop runs")?;
                Flow::Next
            }
            "try" => return self.exceptions(at, line),
            "with" => {
                for token in line.tokens.windows(2) {
                    let [word, name] = token else { continue };
                    if let (Some("as"), Some(name)) = (word.name(), name.name()) {
                        self.set(
                            name,
                            Value::Unknown(format!("`{name}` is a file or another resource")),
                        );
                    }
                }
                return Ok((end, self.suite(at, line)?));
            }
            "else" | "elif" | "except" | "finally" => Flow::Next,
            _ => {
                for part in line.tokens.split(|token| token.is(';')) {
                    let flow = self.simple(part)?;
                    if flow != Flow::Next {
                        return Ok((end, flow));
                    }
                }
                Flow::Next
            }
        };
        Ok((end, flow))
    }

    /// The values that a class gives to names, which its methods use.
    fn members(&mut self, at: usize, end: usize) {
        let class = self.lines.get(at).and_then(|line| line.tokens.get(1)?.name());
        let lines = self.lines.get(at + 1..end).unwrap_or_default();
        let indent = lines.first().map_or(0, |line| line.indent);
        for line in lines.iter().filter(|line| line.indent == indent) {
            let (Some(name), Some(value)) =
                (line.tokens.first().and_then(Token::name), line.tokens.get(2..))
            else {
                continue;
            };
            if !line.tokens.get(1).is_some_and(|token| token.is('=')) {
                continue;
            }
            // One that is not read is not known.
            if let Ok(value) = self.value(value) {
                for owner in ["self", "cls"].into_iter().chain(class) {
                    let path = format!("{owner}.{name}");
                    match self.get(&path).is_some_and(|other| *other != value) {
                        true => self.forget(&path),
                        false => self.set(&path, value.clone()),
                    }
                }
            }
        }
    }

    /// What a header governs: the rest of its line, or the block after it.
    fn suite(&mut self, at: usize, line: &'p Line) -> Result<Flow> {
        let rest = colon(&line.tokens).and_then(|colon| line.tokens.get(colon + 1..));
        let end = self.end_of_block(at);
        self.nested(line.position(), |run| match rest {
            Some(rest) if !rest.is_empty() => {
                for part in rest.split(|token| token.is(';')) {
                    let flow = run.simple(part)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            _ => run.block((at + 1, end)),
        })
    }

    /// `if`, `elif` and `else`: the lines after it with these words belong to it.
    fn conditional(&mut self, at: usize) -> Result<(usize, Flow)> {
        let indent = self.lines.get(at).map_or(0, |line| line.indent);
        let mut parts = vec![at];
        let mut end = self.end_of_block(at);
        while let Some(line) = self.lines.get(end).filter(|line| line.indent == indent) {
            if !line.begins("elif") && !line.begins("else") {
                break;
            }
            parts.push(end);
            end = self.end_of_block(end);
        }
        for part in parts {
            let Some(line) = self.lines.get(part) else { break };
            let condition =
                line.tokens.get(1..colon(&line.tokens).unwrap_or(1)).unwrap_or_default();
            let holds = match line.begins("else") {
                true => Some(true),
                false => self.truth(condition)?,
            };
            match holds {
                Some(true) => return Ok((end, self.suite(part, line)?)),
                Some(false) => {}
                None => {
                    self.skip((part, end), "whether this condition holds")?;
                    break;
                }
            }
        }
        Ok((end, Flow::Next))
    }

    /// Whether a condition holds, if the text shows that.
    fn truth(&mut self, condition: &[Token]) -> Result<Option<bool>> {
        let names: Vec<&str> = condition.iter().filter_map(Token::name).collect();
        let texts = condition.iter().any(|token| token.kind == Kind::Text("__main__".to_owned()));
        if names == ["__name__"] && texts {
            return Ok(Some(true));
        }
        Ok(match condition {
            [one] => match one.name() {
                Some("True") => Some(true),
                Some("False") => Some(false),
                _ => None,
            },
            _ => None,
        })
    }

    fn for_loop(&mut self, at: usize, line: &'p Line) -> Result<(usize, Flow)> {
        let end = self.end_of_block(at);
        let colon = colon(&line.tokens).unwrap_or(line.tokens.len());
        let middle = line.tokens.iter().position(|token| token.name() == Some("in"));
        let parts = middle.and_then(|middle| {
            Some((line.tokens.get(1..middle)?, line.tokens.get(middle + 1..colon)?))
        });
        let Some((targets, source)) = parts else { return Ok((end, Flow::Next)) };
        let targets: Vec<&str> = targets.iter().filter_map(Token::name).collect();
        let Value::List(items) = self.value(source)? else {
            self.skip((at, end), "what this loop runs over")?;
            return Ok((end, Flow::Next));
        };
        for item in items {
            match (targets.as_slice(), item) {
                ([name], item) => self.set(name, item),
                (names, Value::List(items)) if names.len() == items.len() => {
                    names.iter().zip(items).for_each(|(name, item)| self.set(name, item));
                }
                (names, _) => {
                    for name in names {
                        self.set(name, Value::Unknown(format!("`{name}` is a part of an item")));
                    }
                }
            }
            match self.suite(at, line)? {
                Flow::Break => break,
                Flow::Next | Flow::Continue => {}
                flow @ Flow::Return(_) => return Ok((end, flow)),
            }
        }
        Ok((end, Flow::Next))
    }

    /// `try`, with `except`, `else` and `finally`. An exception that a text shows is one of libseccomp.
    fn exceptions(&mut self, at: usize, line: &'p Line) -> Result<(usize, Flow)> {
        let mut end = self.end_of_block(at);
        let (mut handler, mut last) = (None, Vec::new());
        while let Some(next) = self.lines.get(end).filter(|next| next.indent == line.indent) {
            match next.tokens.first().and_then(Token::name) {
                Some("except") if handler.is_none() => handler = Some(end),
                Some("except") => {}
                Some("else" | "finally") => last.push(end),
                _ => break,
            }
            end = self.end_of_block(end);
        }
        let (flow, is_raised) = match (self.suite(at, line), handler) {
            (Err(Stop::Raised(_)), Some(handler)) => {
                let Some(header) = self.lines.get(handler) else { return Ok((end, Flow::Next)) };
                (self.suite(handler, header)?, true)
            }
            (result, _) => (result?, false),
        };
        if flow != Flow::Next {
            return Ok((end, flow));
        }
        for part in last {
            let Some(header) =
                self.lines.get(part).filter(|one| !(is_raised && one.begins("else")))
            else {
                continue;
            };
            let flow = self.suite(part, header)?;
            if flow != Flow::Next {
                return Ok((end, flow));
            }
        }
        Ok((end, Flow::Next))
    }

    /// A statement without a block.
    fn simple(&mut self, tokens: &[Token]) -> Result<Flow> {
        let Some((first, rest)) = tokens.split_first() else { return Ok(Flow::Next) };
        match first.name() {
            Some("return") if rest.is_empty() => return Ok(Flow::Return(Value::None)),
            Some("return") => return Ok(Flow::Return(self.value(rest)?)),
            Some("break") => return Ok(Flow::Break),
            Some("continue") => return Ok(Flow::Continue),
            Some("raise") => {
                let message = "the program raises an exception here";
                return Err(Stop::Raised(Diagnostic::error(Some(first.position), message)));
            }
            Some("pass" | "global" | "nonlocal" | "assert" | "import" | "from") => {
                return Ok(Flow::Next);
            }
            Some("del") => {
                rest.iter().filter_map(Token::name).for_each(|name| self.forget(name));
                return Ok(Flow::Next);
            }
            _ if first.is('@') => return Ok(Flow::Next),
            _ => {}
        }
        let sign = outside(tokens, |window| {
            window.first().is_some_and(|token| token.is('='))
                && !window.get(1).is_some_and(|token| token.is('='))
        });
        let Some(sign) = sign else {
            self.value(tokens)?;
            return Ok(Flow::Next);
        };
        let target = tokens.get(..sign).unwrap_or_default();
        let value = tokens.get(sign + 1..).unwrap_or_default();
        let before =
            target.last().filter(|token| ['+', '-', '|', '&'].iter().any(|sign| token.is(*sign)));
        let compared = target
            .last()
            .is_some_and(|token| ['=', '!', '<', '>'].iter().any(|sign| token.is(*sign)));
        if compared {
            self.value(tokens)?;
            return Ok(Flow::Next);
        }
        let value = match before {
            // `x += y` is `x = x + y`.
            Some(_) => self.value(&[target, value].concat())?,
            None => self.value(value)?,
        };
        self.assign(target, value);
        Ok(Flow::Next)
    }

    fn assign(&mut self, target: &[Token], value: Value) {
        let annotation =
            outside(target, |window| window.first().is_some_and(|token| token.is(':')));
        let target = target.get(..annotation.unwrap_or(target.len())).unwrap_or_default();
        if let Some(path) = path(target) {
            self.set(&path, value);
            return;
        }
        let names: Vec<&str> = target.iter().filter_map(Token::name).collect();
        let is_list = target.iter().any(|token| token.is(','));
        match value {
            Value::List(items) if is_list && items.len() == names.len() => {
                names.iter().zip(items).for_each(|(name, item)| self.set(name, item));
            }
            _ => names.iter().for_each(|name| self.forget(name)),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        // What belongs to an object outlives the function.
        let scope = match name.contains('.') {
            true => self.scopes.first_mut(),
            false => self.scopes.last_mut(),
        };
        if let Some(scope) = scope {
            scope.insert(name.to_owned(), value);
        }
    }

    fn forget(&mut self, name: &str) {
        self.set(
            name,
            Value::Unknown(format!(
                "the value of `{}` is known only when the program runs",
                shorten(name)
            )),
        );
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let local = self.scopes.last().and_then(|scope| scope.get(name));
        local.or_else(|| self.scopes.first()?.get(name))
    }

    /// Leaves out lines whose effect is not known: what they assign is not known afterwards, and they may not be about filters.
    fn skip(&mut self, (start, end): (usize, usize), what: &str) -> Result<()> {
        let lines = self.lines.get(start..end).unwrap_or_default();
        let size = lines.iter().map(|line| line.tokens.len()).sum();
        self.spend(size, lines.first().map_or(Position { line: 1, column: 1 }, Line::position))?;
        let is_about = |name: &str| {
            matches!(name, "SyscallFilter" | "add_rule" | "add_rule_exactly")
                || self.functions.contains_key(name)
                || self.get(name).is_some_and(Value::has_filter)
        };
        let tokens = lines.iter().flat_map(|line| &line.tokens);
        let about = tokens.clone().find(|token| token.name().is_some_and(is_about));
        if about.is_some() {
            let position = lines.first().map(Line::position);
            let message =
                format!("{what} is known only when the program runs, and the filter depends on it");
            let advice = Advice::ReadProcessOr("write out what applies");
            return Err(Stop::Refused(Diagnostic::error(position, message).help(advice)));
        }
        let names: Vec<String> =
            tokens.filter_map(|token| token.name().map(str::to_owned)).collect();
        let is_set = |name: &String| self.get(name).is_some();
        let changed: Vec<String> = names.into_iter().filter(is_set).collect();
        changed.iter().for_each(|name| self.forget(name));
        Ok(())
    }

    fn import(&mut self, line: &Line) {
        let words: Vec<&Token> =
            line.tokens.iter().filter(|token| !token.is('(') && !token.is(')')).collect();
        let name = |at: usize| words.get(at).and_then(|token| token.name());
        let module = name(1).unwrap_or_default();
        let module_of = |name: &str| {
            if MODULES.contains(&name) { "seccomp".to_owned() } else { name.to_owned() }
        };
        if line.begins("from") {
            let items = words.get(3..).unwrap_or_default();
            for item in items.split(|token| token.is(',')) {
                match item {
                    [star] if star.is('*') => self.imports_all |= MODULES.contains(&module),
                    [one] | [one, _] => {
                        let Some(one) = one.name() else { continue };
                        self.imported
                            .insert(one.to_owned(), format!("{}.{one}", module_of(module)));
                    }
                    [one, _, alias, ..] => {
                        let (Some(one), Some(alias)) = (one.name(), alias.name()) else { continue };
                        self.imported
                            .insert(alias.to_owned(), format!("{}.{one}", module_of(module)));
                    }
                    [] => {}
                }
            }
            return;
        }
        for item in words.get(1..).unwrap_or_default().split(|token| token.is(',')) {
            let Some(module) = item.first().and_then(|token| token.name()) else { continue };
            let alias = match item {
                [_, word, alias] if word.name() == Some("as") => alias.name(),
                _ => Some(module),
            };
            if let Some(alias) = alias {
                self.imported.insert(alias.to_owned(), module_of(module));
            }
        }
    }
}
