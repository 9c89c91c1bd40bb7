//! Filters that are combined: the value of an expression `A + B - C ^ D`.

use crate::compile::{Compiled, Options, Phase};
use crate::sets::{self, Operation, SetError};
use crate::{Arch, Endian, Verdict};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::policy::Policy;
use callgate_formats::ruleset::{RuleSet, sections};

use super::filter::{Kinds, SourceFilter};
use super::message::{Message, Messages};
use super::stack::PROMPT;
use super::wording::Wording;

/// The maximum number of characters of a combination in messages.
const MAX_NAME: usize = 80;

/// Filters that are combined.
pub struct Combination {
    name: String,
    /// The operands as they were given.
    given: Vec<String>,
    first: SourceFilter,
    operands: Vec<Operand>,
    arches: Vec<Arch>,
    wording: &'static Wording,
}

struct Operand {
    operation: Operation,
    filter: SourceFilter,
    /// Whether it is a syscall, not a source.
    is_syscall: bool,
}

/// What an operation is applied with.
pub(super) enum Term {
    /// A filter.
    Filter(Box<SourceFilter>),
    /// All calls of a syscall on the architectures of the filters.
    Syscall(String),
}

impl Combination {
    /// The combination of a first filter with others, from left to right. `text` and `given` are the combination and its
    /// operands as they were given.
    ///
    /// # Errors
    /// If no architecture has a syscall.
    pub(super) fn new(
        text: &str,
        given: Vec<String>,
        first: SourceFilter,
        terms: Vec<(Operation, Term)>,
        wording: &'static Wording,
    ) -> Result<Combination, Messages> {
        let mut arches = first.arches.clone();
        let filters = terms.iter().filter_map(|(_, term)| match term {
            Term::Filter(filter) => Some(filter),
            Term::Syscall(_) => None,
        });
        for arch in filters.flat_map(|filter| &filter.arches) {
            if !arches.contains(arch) {
                arches.push(*arch);
            }
        }
        let operand = |(operation, term)| match term {
            Term::Filter(filter) => Ok(Operand { operation, filter: *filter, is_syscall: false }),
            Term::Syscall(name) => {
                let filter = all_calls(&name, &operation_arches(operation, &arches), wording)?;
                Ok(Operand { operation, filter, is_syscall: true })
            }
        };
        let operands = terms.into_iter().map(operand).collect::<Result<_, Messages>>()?;
        Ok(Combination { name: shorten(text), given, first, operands, arches, wording })
    }

    /// The first filter, whose flags and weights the combination has.
    pub fn first(&self) -> &SourceFilter {
        &self.first
    }

    /// The filters of the sources.
    pub fn filters(&self) -> impl Iterator<Item = &SourceFilter> + Clone {
        let others = self.operands.iter().filter(|operand| !operand.is_syscall);
        std::iter::once(&self.first).chain(others.map(|operand| &operand.filter))
    }

    /// The names of all operands.
    pub fn names(&self) -> Vec<&str> {
        let others = self.operands.iter().map(|operand| operand.filter.name.as_str());
        std::iter::once(self.first.name.as_str()).chain(others).collect()
    }

    /// The architectures of the sources.
    pub fn arches(&self) -> &[Arch] {
        &self.arches
    }

    /// The byte order of the machines.
    pub fn endian(&self) -> Endian {
        self.first.endian()
    }

    /// Compiles the combination. Warns about flags that it does not have.
    ///
    /// # Errors
    /// If a filter cannot be an operand, or the result cannot be compiled.
    pub fn compile(
        &self,
        options: &Options,
        observe: &mut dyn FnMut(Phase),
        warnings: &mut Messages,
    ) -> Result<Compiled, Messages> {
        self.first.check_values()?;
        let mut expression = sets::Expression::new(self.first.description());
        for Operand { operation, filter, is_syscall } in &self.operands {
            filter.check_values()?;
            warnings.extend(filter.lost_flags(&self.first));
            expression = match is_syscall {
                true => expression.then_syscalls(*operation, filter.description()),
                false => expression.then(*operation, filter.description()),
            }
            .map_err(|error| self.failure(&error))?;
        }
        expression
            .compile_observed(&self.arches, options, observe)
            .map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &SetError) -> Messages {
        let names = self.names();
        let given: Vec<&str> = self.given.iter().map(String::as_str).collect();
        let one_byte_order = || self.wording.one_byte_order.to_owned();
        let help = error.advice().map(|_| one_byte_order()).or_else(|| error.help_with(&given));
        match error.operand().and_then(|operand| names.get(operand)) {
            Some(name) => Message::error(name, error.to_string(), help.unwrap_or_default()),
            None => Message::lines(&self.name, error.to_string(), help),
        }
    }

    /// The combination as a program, with the flags and the weights of the first filter.
    ///
    /// # Errors
    /// As [`Combination::compile`].
    pub fn into_filter(self, warnings: &mut Messages) -> Result<SourceFilter, Messages> {
        let options = Options { budget: PROMPT, ..Options::default() };
        let program = self.compile(&options, &mut |_| (), warnings)?.program;
        let (kinds, endian) = (Kinds::of(self.filters()), self.endian());
        let mut conditional_parts: Vec<String> = Vec::new();
        for name in self.filters().flat_map(SourceFilter::conditional_names) {
            if !conditional_parts.iter().any(|known| known == name) {
                conditional_parts.push(name.to_owned());
            }
        }
        let filter =
            SourceFilter::made(self.name, program, endian, self.arches, kinds, self.wording);
        let SourceFilter { flags, weights, strict, .. } = self.first;
        Ok(SourceFilter { flags, weights, strict, conditional_parts, ..filter })
    }
}

impl SourceFilter {
    /// Warnings about flags that a combination with another filter, whose flags it keeps, does not have.
    pub fn lost_flags(&self, kept: &SourceFilter) -> Messages {
        let has = |name: &str| kept.flags.each().any(|(_, other, _)| other == name);
        let lost = self.flags.each().filter(|(_, name, _)| !has(name));
        let warning = |(_, name, _)| {
            let message = format!("SECCOMP_FILTER_FLAG_{name} of this filter is not kept");
            let help = "the combination has the flags of the first filter";
            Message::warning(&self.name, message, help)
        };
        lost.map(warning).collect()
    }
}

/// The architectures on which an operation changes a syscall. A removed syscall must not remain permitted through another ABI
/// with the same token, such as x32 in a program that only checks the token. So a removal also covers these ABIs.
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
fn all_calls(name: &str, arches: &[Arch], wording: &Wording) -> Result<SourceFilter, Messages> {
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
        let message = format!("{} has no syscall \"{name}\"", names.join(", "));
        let error = Diagnostic::error(None, message).help(wording.choose_arch);
        return Err(vec![Message::of_request(error)]);
    }
    let other = Verdict::KILL_PROCESS;
    let policy = Policy::new(sections(&sets, other, other), other)
        .map_err(|error| Message::error(name, error.to_string(), ""))?;
    Ok(SourceFilter::of_policy(name.to_owned(), policy, arches.to_vec()))
}

/// A text for messages, cut if it is long.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
