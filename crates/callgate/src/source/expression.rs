//! Sources that combine others: `container-default + ptrace - userfaultfd ^ preset:no-ptrace`.
//!
//! `+` also permits what the next term permits, `-` denies what it permits, and `^` keeps what both permit. They are applied
//! from left to right and stand between blanks. A term is a source. Each term after the first may instead be the name of a
//! syscall: all its calls on the architectures of the sources, also through `socketcall` and `ipc`. A denied syscall gets the
//! default verdict of the first source, or after `-` the verdict of `NAME:VERDICT`. `allow` may precede the first term.

use callgate_bpf::diagnostic::{Diagnostic, Help};
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls;
use callgate_core::{errno_name, errno_number};

use super::combination::{self, Combination};
use super::filter::SourceFilter;
use super::format::SourceFormat;
use super::message::{Message, Messages};
use super::wording::Wording;
use crate::Verdict;
use crate::sets::Operation;

/// The maximum number of sources and syscalls in an expression: each is read, and kept until all are combined.
const MAX_OPERANDS: usize = 256;

/// The largest error number that the kernel returns (`MAX_ERRNO` in `include/linux/err.h`).
const MAX_ERRNO: u16 = 4095;

/// The preset that denies what it does not name; the others are denylists, which only restrict.
const ALLOWLIST: &str = "preset:pure-compute";

/// A combination of sources `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression<S> {
    text: String,
    first: Box<S>,
    steps: Vec<(Operation, Term<S>)>,
    /// The operands as they were given.
    operands: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term<S> {
    Source(S),
    Syscall(String),
}

/// What a caller takes as sources.
pub trait Terms<S, E> {
    /// The source of a term with this index.
    ///
    /// # Errors
    /// If there is no such source.
    fn source(&mut self, index: usize, name: &str) -> Result<S, E>;

    /// Whether a word that may be a mistyped syscall is the name of a source.
    fn is_source(&self, name: &str) -> bool;
}

/// Whether a text has operators between blanks.
pub fn is_expression(text: &str) -> bool {
    text.split_whitespace().skip(1).any(is_operator)
}

impl<S> Expression<S> {
    /// Parses a text with operators between blanks.
    ///
    /// # Errors
    /// If a term is missing, or is not a source or a syscall.
    pub fn parse<E: From<Messages>>(
        text: &str,
        terms: &mut dyn Terms<S, E>,
    ) -> Result<Expression<S>, E> {
        let mut words = text.split_whitespace().peekable();
        if text.split_whitespace().nth(1).is_some_and(|second| !is_operator(second)) {
            words.next_if_eq(&"allow");
        }
        // A term begins with any word, so that - is standard input there, and ends before an operator.
        let mut term = |after: &str| {
            let first = words.next().ok_or_else(|| {
                let message = format!("missing source or syscall after {after} in \"{text}\"");
                error(message, "write, for example, 'container-default + ptrace'")
            })?;
            let mut term = first.to_owned();
            while let Some(word) = words.next_if(|word| !is_operator(word)) {
                term = format!("{term} {word}");
            }
            Ok::<_, Messages>((term, words.next()))
        };
        let (first, mut next) = term("the start")?;
        let (mut steps, mut operands) = (Vec::new(), vec![first.clone()]);
        while let Some(operator) = next {
            check_count(operands.len() + 1)?;
            let (name, after) = term(operator)?;
            let operation = operation(operator).ok_or_else(|| {
                let message = format!("\"{operator}\" is not an operator");
                error(message, "to keep what both filters permit, write 'A ^ B'")
            })?;
            steps.push(Term::parse(operation, operands.len(), &name, terms)?);
            operands.push(name);
            next = after;
        }
        let first = Box::new(terms.source(0, &first)?);
        Ok(Expression { text: text.trim().to_owned(), first, steps, operands })
    }

    /// The combination of operands with one operation.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn of_operands<E: From<Messages>>(
        operation: Operation,
        operands: Vec<String>,
        terms: &mut dyn Terms<S, E>,
    ) -> Result<Expression<S>, E> {
        check_count(operands.len())?;
        let text = operands.join(&format!(" {} ", operation.sign()));
        let mut steps = Vec::new();
        for (index, operand) in operands.iter().enumerate().skip(1) {
            steps.push(Term::parse(operation, index, operand, terms)?);
        }
        let Some(first) = operands.first() else {
            return Err(error("no source is given", "").into());
        };
        let first = Box::new(terms.source(0, first)?);
        Ok(Expression { text, first, steps, operands })
    }

    /// The combination as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The sources in it.
    pub fn sources(&self) -> impl Iterator<Item = &S> {
        let others = self.steps.iter().filter_map(|(_, term)| match term {
            Term::Source(source) => Some(source),
            Term::Syscall(_) => None,
        });
        std::iter::once(&*self.first).chain(others)
    }

    /// Reads the sources and combines them.
    ///
    /// # Errors
    /// If a source cannot be read, or no architecture has a syscall.
    pub fn combine<E: From<Messages>>(
        &self,
        wording: &'static Wording,
        read: &mut dyn FnMut(&S) -> Result<SourceFilter, E>,
    ) -> Result<Combination, E> {
        let first = read(&self.first)?;
        let mut terms = Vec::new();
        for (operation, term) in &self.steps {
            let term = match term {
                Term::Source(source) => combination::Term::Filter(Box::new(read(source)?)),
                Term::Syscall(name) => combination::Term::Syscall(name.clone()),
            };
            terms.push((*operation, term));
        }
        Ok(Combination::new(&self.text, self.operands.clone(), first, terms, wording)?)
    }
}

impl<S> Term<S> {
    /// Parses a term after an operator.
    fn parse<E: From<Messages>>(
        operation: Operation,
        index: usize,
        text: &str,
        terms: &mut dyn Terms<S, E>,
    ) -> Result<(Operation, Term<S>), E> {
        if syscalls::is_known_name(text) {
            return Ok((operation, Term::Syscall(text.to_owned())));
        }
        if let Some(removed) = removed(operation, text)? {
            return Ok(removed);
        }
        if text == ALLOWLIST && operation != Operation::Intersect {
            let message =
                format!("a preset restricts a filter, and \"{}\" does not", operation.sign());
            return Err(
                Message::error(text, message, format!("to restrict, write '… ^ {text}'")).into()
            );
        }
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match syscalls::nearest_name(text).filter(|_| is_word && !terms.is_source(text)) {
            Some(nearest) => Err(error(
                format!(
                    "\"{text}\" is neither a source nor a syscall; did you mean \"{nearest}\"?"
                ),
                "",
            )
            .into()),
            None => Ok((operation, Term::Source(terms.source(index, text)?))),
        }
    }
}

fn error(message: impl Into<String>, help: impl Into<Help>) -> Messages {
    vec![Message::of_request(Diagnostic::error(None, message).help(help))]
}

fn check_count(operands: usize) -> Result<(), Messages> {
    match operands > MAX_OPERANDS {
        true => {
            let message = format!("an expression has at most {MAX_OPERANDS} sources and syscalls");
            Err(error(message, "combine some of them first, and the results then"))
        }
        false => Ok(()),
    }
}

/// A syscall with the verdict that it gets when it is removed: `ptrace:ENOSYS`. `None` for other terms.
fn removed<S>(operation: Operation, text: &str) -> Result<Option<(Operation, Term<S>)>, Messages> {
    let Some((name, verdict)) = text.split_once(':') else { return Ok(None) };
    if !syscalls::is_known_name(name) {
        return Ok(None);
    }
    let denied = match parse_denial(verdict) {
        Ok(denied) => denied,
        // `socket:FILE` is a source.
        Err(_) if SourceFormat::from_name(name).is_some() => return Ok(None),
        Err(expected) => {
            return Err(error(format!("unknown verdict \"{verdict}\" in \"{text}\""), expected));
        }
    };
    match operation {
        Operation::Subtract { .. } => {
            Ok(Some((Operation::Subtract { denied: Some(denied) }, Term::Syscall(name.to_owned()))))
        }
        Operation::Union | Operation::Intersect => Err(error(
            format!("\"{text}\" has a verdict for what is denied"),
            format!("to deny the syscall, write '… - {text}'"),
        )),
    }
}

/// The operation of an operator.
fn operation(word: &str) -> Option<Operation> {
    match word {
        "+" => Some(Operation::Union),
        "-" => Some(Operation::Subtract { denied: None }),
        "^" => Some(Operation::Intersect),
        _ => None,
    }
}

/// Whether a word is an operator here, or for restrictions in other notations of sets.
fn is_operator(word: &str) -> bool {
    operation(word).is_some() || word == "&"
}

/// Parses a verdict that denies a syscall: an action, or the name or the number of an error.
///
/// # Errors
/// What is expected.
pub fn parse_denial(word: &str) -> Result<Verdict, String> {
    let number = || word.parse::<u16>().ok().filter(|number| (1..=MAX_ERRNO).contains(number));
    let word = word.to_ascii_uppercase();
    match word.as_str() {
        // `kill` as in systemd units.
        "KILL_PROCESS" | "KILL" => Ok(Verdict::KILL_PROCESS),
        "KILL_THREAD" => Ok(Verdict::KILL_THREAD),
        "TRAP" => Ok(Verdict::trap(0)),
        word => errno_number(word).or_else(number).map(Verdict::errno).ok_or_else(|| {
            let errors = (1..=MAX_ERRNO).filter_map(errno_name);
            let known = ["KILL_PROCESS", "KILL_THREAD", "TRAP"].into_iter().chain(errors);
            let near = nearest(word, known);
            let meant = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
            format!(
                "expected KILL_PROCESS, KILL_THREAD, TRAP, the name of an error such as EPERM, or its number \
                 from 1 to {MAX_ERRNO}{meant}"
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl Terms<String, Messages> for Names {
        fn source(&mut self, _: usize, name: &str) -> Result<String, Messages> {
            Ok(name.to_owned())
        }

        fn is_source(&self, _: &str) -> bool {
            false
        }
    }

    fn detect(text: &str) -> Option<Result<Expression<String>, Messages>> {
        is_expression(text).then(|| Expression::parse(text, &mut Names))
    }

    fn parse(text: &str) -> Option<Vec<(Operation, Term<String>)>> {
        detect(text)?.ok().map(|expression| expression.steps)
    }

    #[test]
    fn operators_stand_between_blanks() {
        let syscall = |name: &str| Term::Syscall(name.to_owned());
        let source = |name: &str| Term::Source(name.to_owned());
        assert_eq!(
            parse("allow container-default + ptrace - userfaultfd ^ other.json"),
            Some(vec![
                (Operation::Union, syscall("ptrace")),
                (Operation::Subtract { denied: None }, syscall("userfaultfd")),
                (Operation::Intersect, source("other.json")),
            ])
        );
        assert_eq!(
            parse("container-default + systemd:@mount ~@swap"),
            Some(vec![(Operation::Union, source("systemd:@mount ~@swap"))])
        );
        assert_eq!(parse("- + bpf:-"), Some(vec![(Operation::Union, source("bpf:-"))]));
        assert_eq!(parse("a.json + -"), Some(vec![(Operation::Union, source("-"))]));
        for text in ["a+b.json", "a-b", "-", "systemd:@mount ~@swap", "a b"] {
            assert!(detect(text).is_none(), "{text}");
        }
        let removed = |text: &str| parse(&format!("a.json - {text}"));
        for (verdict, denied) in [
            ("ENOSYS", Verdict::errno(38)),
            ("13", Verdict::errno(13)),
            ("kill", Verdict::KILL_PROCESS),
        ] {
            let operation = Operation::Subtract { denied: Some(denied) };
            let found = removed(&format!("socket:{verdict}"));
            assert_eq!(found, Some(vec![(operation, syscall("socket"))]));
        }
        let operation = Operation::Subtract { denied: None };
        assert_eq!(removed("socket:a.txt"), Some(vec![(operation, source("socket:a.txt"))]));
        for text in [
            "a.json +",
            "a.json + ptrac",
            "a.json + x.json -",
            "a.json & x.json",
            "a.json - ptrace:ENOSY",
            "a.json + ptrace:ENOSYS",
            "a.json + preset:pure-compute",
        ] {
            assert!(detect(text).unwrap().is_err(), "{text}");
        }
    }

    #[test]
    fn denials_are_actions_and_errors() {
        assert_eq!(parse_denial("EPERM"), Ok(Verdict::errno(1)));
        assert_eq!(parse_denial("38"), Ok(Verdict::errno(38)));
        assert_eq!(parse_denial("4095"), Ok(Verdict::errno(4095)));
        assert_eq!(parse_denial("KILL_THREAD"), Ok(Verdict::KILL_THREAD));
        assert_eq!(parse_denial("kill"), Ok(Verdict::KILL_PROCESS));
        for wrong in ["", "0", "4096", "-1", "ALLOW", "EPERMM", "LOG"] {
            assert!(parse_denial(wrong).is_err(), "{wrong}");
        }
    }
}
