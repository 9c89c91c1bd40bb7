//! Sources that combine others: `container-default + ptrace - userfaultfd ^ preset:no-ptrace`, and the operands of the commands
//! `union`, `intersect` and `subtract`, which are the same.
//!
//! `+` permits what the next term permits as well, `-` removes it, `^` restricts to what both permit; from left to right.
//! Operators stand between blanks. A term is a source; all but the first may be the name of a syscall, which stands for
//! all its calls on the architectures of the sources, also through `socketcall` and `ipc` (a file with such a name is
//! written with `./`). What is removed gets the verdict that the first source has by default, or after `-` that of
//! `NAME:VERDICT`. `allow` may precede the first term.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use callgate::compile::{Compiled, Options, Phase};
use callgate::sets::{Expression, Operation, SetError};
use callgate::{Arch, Endian, Verdict};
use callgate_bpf::syscalls;
use callgate_core::policy::Policy;
use callgate_formats::ruleset::{RuleSet, sections};
use callgate_requests::source::SourceFormat;

use super::filter::{Filter, FilterContent, Rules};
use super::preset::is_allowlist;
use crate::advice;
use crate::options::PROMPT;
use crate::report::{Failure, Result};
use crate::verdict::parse_denial;

/// The maximum number of characters of a combination in messages.
const MAX_NAME: usize = 80;

/// A combination of sources `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceExpression<S> {
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

impl<S> SourceExpression<S> {
    /// Parses a text with operators between blanks; `None` if it has none, or is the name of a file.
    pub(super) fn detect(
        text: &OsStr,
        source: fn(&OsStr) -> Result<S>,
    ) -> Option<Result<SourceExpression<S>>> {
        let text = text.to_str()?;
        let is_expression = text.split_whitespace().skip(1).any(is_operator);
        (is_expression && !Path::new(text).exists()).then(|| SourceExpression::parse(text, source))
    }

    fn parse(text: &str, source: fn(&OsStr) -> Result<S>) -> Result<SourceExpression<S>> {
        let mut words = text.split_whitespace().peekable();
        if text.split_whitespace().nth(1).is_some_and(|second| !is_operator(second)) {
            words.next_if_eq(&"allow");
        }
        // A term begins with any word, so that - is standard input there, and ends before an operator.
        let mut term = |after: &str| {
            let first = words.next().ok_or_else(|| {
                Failure::new(format!("missing source or syscall after {after} in \"{text}\""))
                    .help("write, for example, 'container-default + ptrace'")
            })?;
            let mut term = first.to_owned();
            while let Some(word) = words.next_if(|word| !is_operator(word)) {
                term = format!("{term} {word}");
            }
            Ok::<_, Failure>((term, words.next()))
        };
        let (first, mut next) = term("the start")?;
        let (mut steps, mut operands) = (Vec::new(), vec![first.clone()]);
        while let Some(operator) = next {
            let (name, after) = term(operator)?;
            let operation = operation(operator).ok_or_else(|| no_operator(operator))?;
            operands.push(name.clone());
            steps.push(Term::parse(operation, name, source)?);
            next = after;
        }
        let first = Box::new(source(OsStr::new(&first))?);
        Ok(SourceExpression { text: text.trim().to_owned(), first, steps, operands })
    }

    /// The combination as it was given.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The sources in it.
    pub(super) fn sources(&self) -> impl Iterator<Item = &S> {
        let others = self.steps.iter().filter_map(|(_, term)| match term {
            Term::Source(source) => Some(source),
            Term::Syscall(_) => None,
        });
        std::iter::once(&*self.first).chain(others)
    }

    /// The combination of operands with one operation.
    pub(super) fn of_operands(
        operation: Operation,
        operands: &[OsString],
        source: fn(&OsStr) -> Result<S>,
    ) -> Result<SourceExpression<S>> {
        let Some((first, others)) = operands.split_first() else {
            return Err(Failure::new("no source is given"));
        };
        let term = |operand: &OsString| match operand.to_str() {
            Some(text) => Term::parse(operation, text.to_owned(), source),
            None => Ok((operation, Term::Source(source(operand)?))),
        };
        let names: Vec<String> =
            operands.iter().map(|operand| operand.to_string_lossy().into_owned()).collect();
        let text = names.join(&format!(" {} ", operation.sign()));
        let steps = others.iter().map(term).collect::<Result<_>>()?;
        Ok(SourceExpression { text, first: Box::new(source(first)?), steps, operands: names })
    }

    /// Reads the sources.
    pub(super) fn load(&self, read: impl Fn(&S) -> Result<Filter>) -> Result<Combination> {
        let first = read(&self.first)?;
        let read_all = self.steps.iter().map(|(_, term)| match term {
            Term::Source(source) => read(source).map(Some),
            Term::Syscall(_) => Ok(None),
        });
        let others: Vec<Option<Filter>> = read_all.collect::<Result<_>>()?;
        let mut arches = first.arches();
        for arch in others.iter().flatten().flat_map(Filter::arches) {
            if !arches.contains(&arch) {
                arches.push(arch);
            }
        }
        let operands = self.steps.iter().zip(others).map(|((operation, term), other)| {
            let (filter, is_syscall) = match (term, other) {
                (_, Some(filter)) => (filter, false),
                (Term::Syscall(name), None) => {
                    let arches = operation_arches(*operation, &arches);
                    (all_calls(name, &arches)?, true)
                }
                (Term::Source(_), None) => return Err(Failure::new("a source was not read")),
            };
            Ok(Operand { operation: *operation, filter, is_syscall })
        });
        let operands = operands.collect::<Result<_>>()?;
        let given = self.operands.clone();
        Ok(Combination { name: shorten(&self.text), given, first, operands, arches })
    }
}

/// Filters that are combined.
pub(crate) struct Combination {
    name: String,
    /// The operands as they were given.
    given: Vec<String>,
    first: Filter,
    operands: Vec<Operand>,
    arches: Vec<Arch>,
}

struct Operand {
    operation: Operation,
    filter: Filter,
    /// Whether it is a syscall, not a source.
    is_syscall: bool,
}

impl Combination {
    /// The first filter, whose flags and weights the combination has.
    pub(crate) fn first(&self) -> &Filter {
        &self.first
    }

    /// The filters of the sources.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &Filter> + Clone {
        let others = self.operands.iter().filter(|operand| !operand.is_syscall);
        std::iter::once(&self.first).chain(others.map(|operand| &operand.filter))
    }

    /// The names of all operands.
    pub(crate) fn names(&self) -> Vec<&str> {
        let others = self.operands.iter().map(|operand| operand.filter.name.as_str());
        std::iter::once(self.first.name.as_str()).chain(others).collect()
    }

    /// The architectures of the sources.
    pub(crate) fn arches(&self) -> &[Arch] {
        &self.arches
    }

    /// The byte order of the machines.
    pub(crate) fn endian(&self) -> Endian {
        self.first.endian()
    }

    /// Compiles the combination. Warns about flags that it does not have.
    pub(crate) fn compile(
        &self,
        options: &Options,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Compiled> {
        self.first.check_values()?;
        let mut expression = Expression::new(self.first.of_stack());
        for Operand { operation, filter, is_syscall } in &self.operands {
            filter.check_values()?;
            filter.warn_about_lost_flags(&self.first);
            expression = match is_syscall {
                true => expression.then_syscalls(*operation, filter.of_stack()),
                false => expression.then(*operation, filter.of_stack()),
            }
            .map_err(|error| self.failure(&error))?;
        }
        expression
            .compile_observed(&self.arches, options, observe)
            .map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &SetError) -> Failure {
        let names = self.names();
        let given: Vec<&str> = self.given.iter().map(String::as_str).collect();
        let help = advice::help_or(error.advice(), error.help_with(&given).unwrap_or_default());
        match error.operand().and_then(|operand| names.get(operand)) {
            Some(name) => Failure::about(*name, error.to_string()).help(help),
            None => Failure::about(&self.name, error.to_string()).help(help).multiline(),
        }
    }

    /// The combination as a program, with the flags and the weights of the first filter.
    pub(super) fn into_filter(self) -> Result<Filter> {
        let compiling = Options { budget: PROMPT, ..Options::default() };
        let program = self.compile(&compiling, &mut |_| ())?.program.into();
        let made_of = Some(Filter::kinds(self.filters()));
        let (installed, endian) = (self.first.flags(), self.endian());
        let content = FilterContent::Program { program, endian, arches: self.arches };
        let weights = self.first.weights;
        Ok(Filter { installed, weights, made_of, ..Filter::new(self.name, content) })
    }
}

/// The architectures on which an operation changes a syscall: what is removed must not remain through another ABI of the same
/// token, such as x32 in a program that checks the token only.
fn operation_arches(operation: Operation, arches: &[Arch]) -> Vec<Arch> {
    let mut all = arches.to_vec();
    if matches!(operation, Operation::Subtract { .. }) {
        let same_token = arches.iter().flat_map(|arch| Arch::with_token(arch.token()));
        let others: Vec<Arch> = same_token.filter(|arch| !arches.contains(arch)).collect();
        all.extend(others);
    }
    all
}

/// The filter that permits all calls of a syscall, and nothing else.
fn all_calls(name: &str, arches: &[Arch]) -> Result<Filter> {
    let mut has_syscall = false;
    let sets: Vec<RuleSet<()>> = arches
        .iter()
        .map(|arch| {
            let mut set = RuleSet::new(*arch);
            set.add_syscall_if_known(name, &[], Verdict::ALLOW, ());
            has_syscall |= !set.is_empty();
            set
        })
        .collect();
    if !has_syscall {
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        return Err(Failure::new(format!("{} has no syscall \"{name}\"", names.join(", ")))
            .help("choose another architecture with --arch"));
    }
    let other = Verdict::KILL_PROCESS;
    let policy = Policy::new(sections(&sets, other, other), other)
        .map_err(|error| Failure::about(name, error.to_string()))?;
    let rules = Rules::new(policy, arches.to_vec());
    Ok(Filter::new(name.to_owned(), FilterContent::Profile(Box::new(rules))))
}

/// A text for messages, cut if it is long.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl<S> Term<S> {
    /// Parses a term after an operator.
    fn parse(
        operation: Operation,
        text: String,
        source: fn(&OsStr) -> Result<S>,
    ) -> Result<(Operation, Term<S>)> {
        if syscalls::is_known_name(&text) {
            return Ok((operation, Term::Syscall(text)));
        }
        if let Some(removed) = removed(operation, &text)? {
            return Ok(removed);
        }
        if is_allowlist(&text) && operation != Operation::Intersect {
            let sign = operation.sign();
            return Err(Failure::about(
                &text,
                format!("a preset restricts a filter, and \"{sign}\" does not"),
            )
            .help(format!("to restrict, write '… ^ {text}'")));
        }
        let is_file = Path::new(&text).exists();
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match syscalls::nearest_name(&text).filter(|_| is_word && !is_file) {
            Some(nearest) => Err(Failure::new(format!(
                "\"{text}\" is neither a file nor a syscall; did you mean \"{nearest}\"?"
            ))),
            None => Ok((operation, Term::Source(source(OsStr::new(&text))?))),
        }
    }
}

/// A syscall with the verdict that it gets when it is removed: `ptrace:ENOSYS`. `None` for other terms.
fn removed<S>(operation: Operation, text: &str) -> Result<Option<(Operation, Term<S>)>> {
    let Some((name, verdict)) = text.split_once(':') else { return Ok(None) };
    if !syscalls::is_known_name(name) {
        return Ok(None);
    }
    let denied = match parse_denial(verdict) {
        Ok(denied) => denied,
        // `socket:FILE` is a source.
        Err(_) if SourceFormat::from_name(name).is_some() => return Ok(None),
        Err(expected) => {
            return Err(
                Failure::new(format!("unknown verdict \"{verdict}\" in \"{text}\"")).help(expected)
            );
        }
    };
    match operation {
        Operation::Subtract { .. } => {
            Ok(Some((Operation::Subtract { denied: Some(denied) }, Term::Syscall(name.to_owned()))))
        }
        Operation::Union | Operation::Intersect => {
            Err(Failure::new(format!("\"{text}\" has a verdict for what is denied"))
                .help(format!("to deny the syscall, write '… - {text}'")))
        }
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

/// The sign for restrictions in other notations of sets.
const NO_OPERATOR: &str = "&";

fn is_operator(word: &str) -> bool {
    operation(word).is_some() || word == NO_OPERATOR
}

fn no_operator(word: &str) -> Failure {
    Failure::new(format!("\"{word}\" is not an operator"))
        .help("to keep what both filters permit, write 'A ^ B'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(text: &str) -> Option<Result<SourceExpression<String>>> {
        let source = |text: &OsStr| Ok(text.to_string_lossy().into_owned());
        SourceExpression::detect(OsStr::new(text), source)
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
}
