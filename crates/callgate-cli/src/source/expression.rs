//! Sources that combine others: `container-default + ptrace - userfaultfd`.
//!
//! `+` permits what the next term permits as well (a preset restricts instead), `-` removes it (EPERM), `&` keeps what both permit; from left to right.
//! Operators stand between blanks. A term is a source; all but the first may be the name of a syscall, which stands for
//! all its calls on the architectures of the sources, also through `socketcall` and `ipc` (a file with such a name is
//! written with `./`). `allow` may precede the first term.

use std::ffi::OsStr;
use std::path::Path;

use callgate::compile::Options;
use callgate::formats::ruleset::{RuleSet, sections};
use callgate::policy::Policy;
use callgate::sets::{Expression, Operation};
use callgate::{Arch, Verdict, syscalls};

use super::filter::{Filter, FilterContent, Rules};
use super::preset::is_preset;
use crate::options::PROMPT;
use crate::report::{Failure, Result};

/// The maximum number of characters of a combination in messages.
const MAX_NAME: usize = 80;

/// The verdict of removed syscalls.
const DENIED: Verdict = Verdict::errno(1);

/// A combination of sources `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceExpression<S> {
    text: String,
    first: Box<S>,
    steps: Vec<(Operation, Term<S>)>,
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
        let is_expression = text.split_whitespace().skip(1).any(|word| operation(word).is_some());
        (is_expression && !Path::new(text).exists()).then(|| SourceExpression::parse(text, source))
    }

    fn parse(text: &str, source: fn(&OsStr) -> Result<S>) -> Result<SourceExpression<S>> {
        let mut words = text.split_whitespace().peekable();
        if text.split_whitespace().nth(1).is_some_and(|second| operation(second).is_none()) {
            words.next_if_eq(&"allow");
        }
        // A term begins with any word, so that - is standard input there, and ends before an operator.
        let mut term = |after: &str| {
            let first = words.next().ok_or_else(|| {
                Failure::new(format!("missing source or syscall after {after} in \"{text}\""))
                    .help("write, for example, 'container-default + ptrace'")
            })?;
            let mut term = first.to_owned();
            while let Some(word) = words.next_if(|word| operation(word).is_none()) {
                term = format!("{term} {word}");
            }
            Ok::<_, Failure>((term, words.next()))
        };
        let (first, mut next) = term("the start")?;
        let mut steps = Vec::new();
        while let Some(operator) = next {
            let (name, after) = term(operator)?;
            if let Some(operation) = operation(operator) {
                let operation = for_term(operation, &name)?;
                steps.push((operation, Term::parse(name, source)?));
            }
            next = after;
        }
        let first = Box::new(source(OsStr::new(&first))?);
        Ok(SourceExpression { text: text.trim().to_owned(), first, steps })
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

    /// Reads the sources, and compiles their combination to a program. It has the flags and the weights of the first one.
    pub(super) fn read(&self, read: impl Fn(&S) -> Result<Filter>) -> Result<Filter> {
        let name: String = shorten(&self.text);
        let first = read(&self.first)?;
        let read_all = self.steps.iter().map(|(_, term)| match term {
            Term::Source(source) => read(source).map(Some),
            Term::Syscall(_) => Ok(None),
        });
        let others: Vec<Option<Filter>> = read_all.collect::<Result<_>>()?;
        let made_of = Some(Filter::kinds(others.iter().flatten().chain([&first])));
        let mut arches = first.arches();
        for arch in others.iter().flatten().flat_map(Filter::arches) {
            if !arches.contains(&arch) {
                arches.push(arch);
            }
        }
        let with_syscalls =
            self.steps.iter().zip(others).map(|((operation, term), other)| match (term, other) {
                (_, Some(filter)) => Ok(filter),
                (Term::Syscall(name), None) => all_calls(name, *operation, &arches),
                (Term::Source(_), None) => Err(Failure::new("a source was not read")),
            });
        let others: Vec<Filter> = with_syscalls.collect::<Result<_>>()?;
        let mut expression = Expression::new(first.of_stack());
        first.check_values()?;
        for ((operation, _), other) in self.steps.iter().zip(&others) {
            other.check_values()?;
            other.warn_about_lost_flags(&first);
            expression = expression.then(*operation, other.of_stack()).map_err(|error| {
                Failure::about(&other.name, error.to_string()).help(
                    "choose one machine with --arch, or the byte order of a program with --endian",
                )
            })?;
        }
        let endian = expression.endian();
        let compiling = Options { budget: PROMPT, ..Options::default() };
        let compiled = expression.compile(&arches, &compiling).map_err(|error| {
            Failure::about(&name, error.to_string())
                .help(error.help().unwrap_or_default())
                .multiline()
        })?;
        let (installed, weights) = (first.flags(), first.weights.clone());
        let program = compiled.program.into();
        let content = FilterContent::Program { program, endian, arches };
        Ok(Filter { installed, weights, made_of, ..Filter::new(name, content) })
    }
}

/// The filter that permits all calls of a syscall; others are denied as the operation requires.
fn all_calls(name: &str, operation: Operation, arches: &[Arch]) -> Result<Filter> {
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
    let other = match operation {
        Operation::Intersect => DENIED,
        // The strictest verdict changes nothing.
        Operation::Union | Operation::Subtract { .. } => Verdict::KILL_PROCESS,
    };
    let policy = Policy::new(sections(&sets, other, other), other)
        .map_err(|error| Failure::about(name, error.to_string()))?;
    let rules = Rules::new(policy, arches.to_vec());
    Ok(Filter::new(name.to_owned(), FilterContent::Profile(Box::new(rules))))
}

/// The operation for a term. A preset restricts, so it is added by an intersection.
fn for_term(operation: Operation, name: &str) -> Result<Operation> {
    match operation {
        _ if !is_preset(name) => Ok(operation),
        Operation::Intersect | Operation::Union => Ok(Operation::Intersect),
        Operation::Subtract { .. } => {
            Err(Failure::new(format!("\"- {name}\" would deny what the preset allows"))
                .help(format!("a preset restricts a filter: write + {name}")))
        }
    }
}

/// A text for messages, cut if it is long.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl<S> Term<S> {
    fn parse(text: String, source: fn(&OsStr) -> Result<S>) -> Result<Term<S>> {
        if syscalls::is_known_name(&text) {
            return Ok(Term::Syscall(text));
        }
        let is_file = Path::new(&text).exists();
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match syscalls::nearest_name(&text).filter(|_| is_word && !is_file) {
            Some(nearest) => Err(Failure::new(format!(
                "\"{text}\" is neither a file nor a syscall; did you mean \"{nearest}\"?"
            ))),
            None => source(OsStr::new(&text)).map(Term::Source),
        }
    }
}

/// The operation of an operator.
fn operation(word: &str) -> Option<Operation> {
    match word {
        "+" => Some(Operation::Union),
        "-" => Some(Operation::Subtract { denied: DENIED }),
        "&" => Some(Operation::Intersect),
        _ => None,
    }
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
            parse("allow container-default + ptrace - userfaultfd & other.json"),
            Some(vec![
                (Operation::Union, syscall("ptrace")),
                (Operation::Subtract { denied: DENIED }, syscall("userfaultfd")),
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
        for text in ["a.json +", "a.json + ptrac", "a.json + x.json -"] {
            assert!(detect(text).unwrap().is_err(), "{text}");
        }
    }
}
