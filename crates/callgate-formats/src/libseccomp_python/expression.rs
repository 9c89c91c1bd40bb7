//! Values of expressions, and the calls in them.

use super::binding::{arch, attribute, constant, descriptor, method, of_module};
use super::lines::{Kind, Token};
use super::run::{Flow, Result, Run, Stop, Value};
use super::tokens::{arguments, end_of_brackets, outside};
use crate::diagnostics::quote::shorten;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::text::calls::{Answer, Argument, Call, Library};
use callgate_core::Verdict;

/// The operators of two values, the weakest first.
const OPERATORS: [&[Sign]; 5] = [
    &[Sign::Plain('|')],
    &[Sign::Plain('&')],
    &[Sign::Shift],
    &[Sign::Plain('+'), Sign::Plain('-')],
    &[Sign::Plain('*')],
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plain(char),
    Shift,
}

impl Sign {
    fn is(self, token: &Token) -> bool {
        match self {
            Sign::Plain(sign) => token.is(sign),
            Sign::Shift => token.kind == Kind::Shift,
        }
    }
}

/// The arguments of a call.
struct Given {
    plain: Vec<Value>,
    named: Vec<(String, Value)>,
}

impl Given {
    /// An argument by its place or its name.
    fn get(&self, at: usize, name: &str) -> Option<&Value> {
        self.plain.get(at).or_else(|| {
            let found = self.named.iter().find(|(own, _)| own == name);
            found.map(|(_, value)| value)
        })
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.plain.iter().chain(self.named.iter().map(|(_, value)| value))
    }
}

impl Run<'_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, tokens: &[Token]) -> Result<Value> {
        let Some(first) = tokens.first() else { return Ok(Value::None) };
        self.nested(first.position, |run| run.items(tokens, first.position))
    }

    /// A list without brackets, or one value.
    fn items(&mut self, tokens: &[Token], position: Position) -> Result<Value> {
        let has_comma = outside(tokens, |window| window.first().is_some_and(|token| token.is(',')));
        if has_comma.is_some() {
            return self.list(tokens);
        }
        let is_word = |token: &Token| {
            matches!(
                token.name(),
                Some(
                    "if" | "for"
                        | "lambda"
                        | "and"
                        | "or"
                        | "not"
                        | "in"
                        | "is"
                        | "await"
                        | "yield"
                )
            )
        };
        let is_compared = |token: &Token| ['<', '>', '=', '!'].iter().any(|sign| token.is(*sign));
        let opaque = outside(tokens, |window| {
            window.first().is_some_and(|token| is_word(token) || is_compared(token))
        });
        if opaque.is_some() {
            return self.opaque(tokens, position);
        }
        for signs in OPERATORS {
            // The last one, as these operators bind to the left.
            let mut place = None;
            let mut from = 0;
            while let Some(found) = tokens.get(from..).and_then(|rest| {
                outside(rest, |window| {
                    window.first().is_some_and(|token| signs.iter().any(|sign| sign.is(token)))
                })
            }) {
                if from + found > 0 {
                    place = Some(from + found);
                }
                from += found + 1;
            }
            if let Some(place) = place {
                let sign = tokens.get(place).map(|token| token.kind.clone());
                let left = self.value(tokens.get(..place).unwrap_or_default())?;
                let right = self.value(tokens.get(place + 1..).unwrap_or_default())?;
                return Ok(combine(sign, left, right));
            }
        }
        let (Some(first), rest) = (tokens.first(), tokens.get(1..).unwrap_or_default()) else {
            return Ok(Value::None);
        };
        match first.kind {
            Kind::Sign('-') => Ok(match self.value(rest)? {
                Value::Number(number) => Value::Number(number.saturating_neg()),
                other => unknown_of(other),
            }),
            Kind::Sign('~') => Ok(match self.value(rest)? {
                Value::Number(number) => Value::Number(!number),
                other => unknown_of(other),
            }),
            Kind::Sign('+') => self.value(rest),
            _ => self.postfix(tokens, position),
        }
    }

    /// An expression that is not read, which may not be about filters.
    fn opaque(&mut self, tokens: &[Token], position: Position) -> Result<Value> {
        let is_about = |name: &str| {
            matches!(name, "SyscallFilter" | "add_rule" | "add_rule_exactly" | "load")
                || self.get(name).is_some_and(Value::has_filter)
        };
        match tokens.iter().any(|token| token.name().is_some_and(is_about)) {
            true => {
                let message = "this expression is not read, and the filter depends on it";
                let advice = Advice::ReadProcessOr("write it as statements");
                Err(Stop::Refused(Diagnostic::error(Some(position), message).help(advice)))
            }
            false => Ok(Value::Unknown("a condition or a comprehension decides".to_owned())),
        }
    }

    /// A list; `*` before an item inserts the items of another list.
    fn list(&mut self, tokens: &[Token]) -> Result<Value> {
        let mut items = Vec::new();
        for item in arguments(tokens) {
            match item.split_first() {
                Some((star, rest)) if star.is('*') => match self.value(rest)? {
                    Value::List(more) => items.extend(more),
                    other => return Ok(unknown_of(other)),
                },
                _ => items.push(self.value(item)?),
            }
        }
        Ok(Value::list(items))
    }

    /// A name, a constant or brackets, with members, calls and indices after it.
    fn postfix(&mut self, tokens: &[Token], position: Position) -> Result<Value> {
        let Some(first) = tokens.first() else { return Ok(Value::None) };
        let mut path: Vec<String> = Vec::new();
        let mut at = 1;
        let mut value = match &first.kind {
            Kind::Name(name) => {
                path.push(name.clone());
                None
            }
            Kind::Number(number) => Some(Value::Number(*number)),
            Kind::Text(text) => {
                let mut whole = text.clone();
                while let Some(Kind::Text(more)) = tokens.get(at).map(|token| &token.kind) {
                    whole.push_str(more);
                    at += 1;
                }
                Some(Value::Text(whole))
            }
            Kind::Sign(open @ ('(' | '[' | '{')) => {
                let end = end_of_brackets(tokens, 0);
                let inside = tokens.get(1..end).unwrap_or_default();
                at = end + 1;
                let has = |sign: char| {
                    outside(inside, |window| window.first().is_some_and(|token| token.is(sign)))
                };
                let is_comprehension =
                    outside(inside, |window| window.first().and_then(Token::name) == Some("for"));
                Some(match open {
                    _ if is_comprehension.is_some() => self.opaque(inside, position)?,
                    '{' if has(':').is_some() => Value::Unknown("it is in a dictionary".to_owned()),
                    '(' if has(',').is_none() && !inside.is_empty() => self.value(inside)?,
                    _ => self.list(inside)?,
                })
            }
            _ => Some(Value::Unknown("it is not read".to_owned())),
        };
        while let Some(token) = tokens.get(at) {
            if token.is('.') {
                let Some(name) = tokens.get(at + 1).and_then(Token::name) else { break };
                path.push(name.to_owned());
                at += 2;
            } else if token.is('(') {
                let end = end_of_brackets(tokens, at);
                let inside = tokens.get(at + 1..end).unwrap_or_default();
                at = end + 1;
                value = Some(self.call(value.take(), &path, inside, position)?);
                path.clear();
            } else if token.is('[') {
                at = end_of_brackets(tokens, at) + 1;
                value = Some(Value::Unknown("it is an item of a list".to_owned()));
                path.clear();
            } else {
                break;
            }
        }
        match value {
            Some(value) if path.is_empty() => Ok(value),
            Some(_) => Ok(Value::Unknown(format!("`{}` is not read", shorten(&path.join("."))))),
            None => self.named(&path, position),
        }
    }

    /// The value of a name with members.
    fn named(&mut self, path: &[String], position: Position) -> Result<Value> {
        let whole = path.join(".");
        if let Some(value) = self.copy(&whole, position)? {
            return Ok(value);
        }
        match whole.as_str() {
            "True" => return Ok(Value::Number(1)),
            "False" => return Ok(Value::Number(0)),
            "None" => return Ok(Value::None),
            _ => {}
        }
        let real = self.real(path);
        let parts: Vec<&str> = real.split('.').collect();
        let number = match parts.as_slice() {
            ["seccomp", name] => constant(name),
            ["seccomp", "Arch", name] => arch(name),
            ["seccomp", "Attr", name] => attribute(name),
            [module, name] | ["seccomp", module, name] => of_module(module, name, self.arch),
            _ => None,
        };
        if let Some(number) = number {
            return Ok(Value::Number(number));
        }
        if let Some(number) = descriptor(&parts) {
            self.assume(&whole, number, position);
            return Ok(Value::Number(number));
        }
        let why = format!("the value of `{}` is known only when the program runs", shorten(&whole));
        Ok(Value::Unknown(why))
    }

    fn assume(&mut self, stream: &str, number: i128, position: Position) {
        /// The most warnings.
        const MOST: usize = 10;
        if self.assumed.len() < MOST {
            let message = format!(
                "{} is taken as the descriptor {number}, as in a program that redirects no stream",
                shorten(stream)
            );
            self.assumed.push(
                Diagnostic::warning(Some(position), message)
                    .help("write the descriptor, if it is another one"),
            );
        }
    }

    /// What a name stands for that is imported.
    fn real(&self, path: &[String]) -> String {
        let Some((first, rest)) = path.split_first() else { return String::new() };
        let start = match self.imported.get(first) {
            Some(real) => real.clone(),
            None if self.imports_all && !self.functions.contains_key(first) => {
                format!("seccomp.{first}")
            }
            None => first.clone(),
        };
        std::iter::once(start.as_str())
            .chain(rest.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(".")
    }

    fn given(&mut self, tokens: &[Token]) -> Result<Given> {
        let mut given = Given { plain: Vec::new(), named: Vec::new() };
        for one in arguments(tokens) {
            match one {
                [name, equals, value @ ..] if equals.is('=') && name.name().is_some() => {
                    let value = self.value(value)?;
                    given.named.push((name.name().unwrap_or_default().to_owned(), value));
                }
                [star, rest @ ..] if star.is('*') => match self.value(rest)? {
                    Value::List(items) => given.plain.extend(items),
                    other => given.plain.push(unknown_of(other)),
                },
                _ => given.plain.push(self.value(one)?),
            }
        }
        Ok(given)
    }

    /// A call: of a method of `value` with the last name of the path, or of what the path names.
    fn call(
        &mut self,
        value: Option<Value>,
        path: &[String],
        tokens: &[Token],
        position: Position,
    ) -> Result<Value> {
        let given = self.given(tokens)?;
        let (owner, last) = match path.split_last() {
            Some((last, owner)) => (owner, last.as_str()),
            None => (&[][..], ""),
        };
        let object = match (value, owner) {
            (Some(value), []) => Some(value),
            (None, [_, ..]) => self.copy(&owner.join("."), position)?,
            _ => None,
        };
        if let Some(object) = object {
            return self.method(object, (owner, last), &given, position);
        }
        if let ([], Some(function)) = (owner, self.functions.get(last).cloned()) {
            return self.run_function(&function, &given, None);
        }
        if let (["self" | "cls"], Some(function)) = (
            owner.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
            self.functions.get(last).cloned(),
        ) {
            return self.run_function(&function, &given, Some(Value::None));
        }
        let real = self.real(path);
        let parts: Vec<&str> = real.split('.').collect();
        if let Some(number) = descriptor(&parts) {
            self.assume(&path.join("."), number, position);
            return Ok(Value::Number(number));
        }
        match parts.as_slice() {
            ["seccomp", name @ ("ERRNO" | "TRACE" | "Arch" | "Arg" | "SyscallFilter")] => {
                self.of_binding(name, &given, position)
            }
            ["list" | "tuple" | "set" | "sorted" | "frozenset" | "reversed"] => {
                Ok(given.plain.first().cloned().unwrap_or(Value::List(Vec::new())))
            }
            ["int"] => Ok(given.plain.first().cloned().unwrap_or(Value::Number(0))),
            _ => match given.values().any(Value::has_filter) {
                true => {
                    let message =
                        format!("`{}` is not read, and gets the filter", shorten(&path.join(".")));
                    let advice = Advice::ReadProcessOr("give the file with this function");
                    Err(Stop::Refused(Diagnostic::error(Some(position), message).help(advice)))
                }
                false => Ok(Value::Unknown(format!(
                    "the result of `{}` is known only when the program runs",
                    shorten(&path.join("."))
                ))),
            },
        }
    }

    /// Runs a function of the program; `owner` is what a method gets as its first parameter.
    fn run_function(
        &mut self,
        function: &super::run::Function,
        given: &Given,
        owner: Option<Value>,
    ) -> Result<Value> {
        let mut scope = std::collections::HashMap::new();
        let skipped = usize::from(owner.is_some());
        if let (Some(owner), Some((name, _))) = (owner, function.parameters.first()) {
            scope.insert(name.clone(), owner);
        }
        for (at, (name, default)) in function.parameters.iter().skip(skipped).enumerate() {
            let value = match given.get(at, name) {
                Some(value) => value.clone(),
                None if default.is_empty() => {
                    Value::Unknown(format!("`{}` is a parameter", shorten(name)))
                }
                None => self.value(default)?,
            };
            scope.insert(name.clone(), value);
        }
        let flow = self.nested(function.position, |run| {
            run.scopes.push(scope);
            let flow = run.block(function.body);
            run.scopes.pop();
            flow
        })?;
        Ok(match flow {
            Flow::Return(value) => value,
            _ => Value::None,
        })
    }

    /// Runs a function without arguments.
    pub(super) fn run_alone(&mut self, function: &super::run::Function) -> Result<Value> {
        self.run_function(function, &Given { plain: Vec::new(), named: Vec::new() }, None)
    }

    /// A method of a string, a list or a filter.
    fn method(
        &mut self,
        object: Value,
        (owner, name): (&[String], &str),
        given: &Given,
        position: Position,
    ) -> Result<Value> {
        match (object, name) {
            (Value::Filter(filter), _) => self.of_filter(filter, name, given, position),
            (Value::Text(text), "split") => {
                let by = match given.plain.first() {
                    Some(Value::Text(by)) if !by.is_empty() => Some(by.clone()),
                    None => None,
                    Some(_) => return Ok(Value::Unknown("it is a part of a string".to_owned())),
                };
                let parts: Vec<&str> = match &by {
                    Some(by) => text.split(by.as_str()).collect(),
                    None => text.split_whitespace().collect(),
                };
                Ok(Value::List(
                    parts.into_iter().map(|part| Value::Text(part.to_owned())).collect(),
                ))
            }
            (Value::Text(text), "strip") if given.plain.is_empty() => {
                Ok(Value::Text(text.trim().to_owned()))
            }
            (Value::List(mut items), "append" | "extend" | "add" | "update") => {
                match (name, given.plain.first()) {
                    ("append" | "add", Some(item)) => items.push(item.clone()),
                    (_, Some(Value::List(more))) => items.extend(more.iter().cloned()),
                    _ => return self.lose(owner),
                }
                self.set(&owner.join("."), Value::list(items));
                Ok(Value::None)
            }
            (list @ Value::List(_), "copy") => Ok(list),
            (Value::List(_), _) => self.lose(owner),
            (object, _) => Ok(unknown_of(object)),
        }
    }

    /// After a change of a list that is not read, its items are not known.
    fn lose(&mut self, owner: &[String]) -> Result<Value> {
        let name = owner.join(".");
        let why = format!("the list `{}` is changed in a way that is not read", shorten(&name));
        self.set(&name, Value::Unknown(why.clone()));
        Ok(Value::Unknown(why))
    }

    /// A function of the module.
    fn of_binding(&mut self, name: &str, given: &Given, position: Position) -> Result<Value> {
        let first = given.plain.first();
        let data = |verdict: fn(u16) -> Verdict| match first {
            Some(Value::Number(number)) => {
                let data = u16::try_from(number & 0xffff).unwrap_or_default();
                Value::Number(i128::from(verdict(data).0))
            }
            other => unknown_of(other.cloned().unwrap_or(Value::None)),
        };
        Ok(match name {
            "ERRNO" => data(Verdict::errno),
            "TRACE" => data(Verdict::trace),
            "Arch" => match first {
                Some(Value::Text(name)) => match arch(name) {
                    Some(number) => Value::Number(number),
                    None => Value::Unknown(format!("`{}` is not an architecture", shorten(name))),
                },
                Some(Value::Number(number)) => Value::Number(*number),
                other => unknown_of(other.cloned().unwrap_or(Value::None)),
            },
            "Arg" => {
                let names = ["arg", "op", "datum_a", "datum_b"];
                let mut fields = [0; 4];
                for (at, (field, name)) in fields.iter_mut().zip(names).enumerate() {
                    match given.get(at, name) {
                        Some(Value::Number(number)) => *field = *number,
                        None if at == 3 => {}
                        other => return Ok(unknown_of(other.cloned().unwrap_or(Value::None))),
                    }
                }
                Value::Comparison(fields)
            }
            "SyscallFilter" => {
                let action = given.get(0, "defaction").cloned().unwrap_or(Value::None);
                let arguments = [argument(action)];
                let answer = self.answer("seccomp_init", &arguments, position)?;
                match answer {
                    Answer::Handle(filter) => Value::Filter(filter),
                    _ => return Err(self.exception("seccomp_init", position)),
                }
            }
            _ => Value::None,
        })
    }

    fn of_filter(
        &mut self,
        filter: usize,
        name: &str,
        given: &Given,
        position: Position,
    ) -> Result<Value> {
        let Some(function) = method(name) else {
            let message = format!("a filter has no method `{}` that is read", shorten(name));
            let advice = Advice::ReadProcessOr("write its rules with add_rule");
            return Err(Stop::Refused(Diagnostic::error(Some(position), message).help(advice)));
        };
        let Some(function) = function else { return Ok(Value::Number(0)) };
        let mut all = vec![Argument::Handle(filter)];
        match function {
            "seccomp_rule_add_array" | "seccomp_rule_add_exact_array" => {
                all.push(argument(given.get(0, "action").cloned().unwrap_or(Value::None)));
                let syscall = given.get(1, "syscall").cloned().unwrap_or(Value::None);
                all.push(self.syscall(syscall, position)?);
                let comparisons: Vec<Argument> =
                    given.plain.iter().skip(2).cloned().map(argument).collect();
                all.push(Argument::Number(comparisons.len() as i128));
                all.push(Argument::Array(comparisons));
            }
            "seccomp_reset" if given.plain.is_empty() && given.named.is_empty() => {
                let message = "`reset` without an action is not read";
                let error = Diagnostic::error(Some(position), message);
                return Err(Stop::Refused(error.help("make a new filter instead")));
            }
            "seccomp_load" | "seccomp_export_bpf" => {}
            _ => all.extend(given.values().cloned().map(argument)),
        }
        match self.answer(function, &all, position)? {
            Answer::Number(code) if code < 0 => Err(self.exception(function, position)),
            _ => Ok(Value::None),
        }
    }

    /// The syscall of a rule: a number or a name.
    fn syscall(&mut self, given: Value, position: Position) -> Result<Argument> {
        let Value::Text(name) = given else { return Ok(argument(given)) };
        let arguments = [Argument::Text(name)];
        Ok(match self.answer("seccomp_syscall_resolve_name", &arguments, position)? {
            Answer::Number(number) => Argument::Number(i128::from(number)),
            Answer::Absent(known) => Argument::Absent(known),
            _ => Argument::Other,
        })
    }

    fn answer(
        &mut self,
        function: &str,
        arguments: &[Argument],
        position: Position,
    ) -> Result<Answer> {
        let call = Call { function, arguments, position };
        self.calls.call(&call).map_err(Stop::Refused)
    }

    /// The exception for a call that libseccomp refuses.
    fn exception(&self, function: &str, position: Position) -> Stop {
        let why = self.calls.warnings.last().map(|warning| warning.message.clone());
        let message = why.unwrap_or_else(|| format!("libseccomp refuses this call of {function}"));
        let help = "the program ends with an exception here, unless `try` is around it";
        Stop::Raised(Diagnostic::error(Some(position), message).help(help))
    }
}

/// A value as an argument of a function of C.
fn argument(value: Value) -> Argument {
    match value {
        Value::Number(number) => Argument::Number(number),
        Value::Text(text) => Argument::Text(text),
        Value::Filter(filter) => Argument::Handle(filter),
        Value::Comparison(fields) => {
            // Operators and values are unsigned numbers of 32 and 64 bits.
            Argument::Record(
                fields.map(|field| Argument::Number(i128::from(field as u64))).to_vec(),
            )
        }
        Value::Unknown(why) => {
            Argument::Unknown(why, Advice::ReadProcessOr("write the value that is meant"))
        }
        Value::List(_) | Value::None => Argument::Other,
    }
}

/// The value of an expression with a value that has no meaning there.
fn unknown_of(value: Value) -> Value {
    match value {
        Value::Unknown(why) => Value::Unknown(why),
        _ => Value::Unknown("it is of another type than expected".to_owned()),
    }
}

fn combine(sign: Option<Kind>, left: Value, right: Value) -> Value {
    match (sign, left, right) {
        (Some(Kind::Sign(sign)), Value::Number(a), Value::Number(b)) => {
            let number = match sign {
                '|' => Some(a | b),
                '&' => Some(a & b),
                '+' => a.checked_add(b),
                '-' => a.checked_sub(b),
                '*' => a.checked_mul(b),
                _ => None,
            };
            number
                .map_or_else(|| Value::Unknown("the number is too large".to_owned()), Value::Number)
        }
        (Some(Kind::Shift), Value::Number(a), Value::Number(b)) => {
            let bits = u32::try_from(b).ok().filter(|bits| *bits < 64);
            let number = bits.and_then(|bits| a.checked_mul(1i128 << bits));
            number
                .map_or_else(|| Value::Unknown("the number is too large".to_owned()), Value::Number)
        }
        (Some(Kind::Sign('+' | '|')), Value::List(mut a), Value::List(b)) => {
            a.extend(b);
            Value::List(a)
        }
        (Some(Kind::Sign('+')), Value::Text(a), Value::Text(b)) => Value::Text(a + &b),
        (_, Value::Unknown(why), _) | (_, _, Value::Unknown(why)) => Value::Unknown(why),
        _ => Value::Unknown("it is of another type than expected".to_owned()),
    }
}
