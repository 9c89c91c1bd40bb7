//! Sources that combine others, and the operands of the commands `union`, `intersect` and `subtract`, which are the same. A file
//! with the name of a syscall is written with `./`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use callgate::Arch;
use callgate::sets::Operation;
use callgate_bpf::SyscallTable;
use callgate_core::Word;
use callgate_core::diagram::Store;
use callgate_requests::source::{
    Combination, Expression, SourceFilter, SourceStack, Terms, is_expression,
};

use super::filter::WORDING;
use super::stack::into_filter;
use crate::options::{PROMPT, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::text::counted;

/// Parses a source of a combination.
type Parse<S> = fn(&OsStr) -> Result<S>;

/// Operands as they were given; those of a text are in it.
struct Operands<'o, S>(&'o [OsString], Parse<S>);

impl<S> Terms<S, Failure> for Operands<'_, S> {
    fn source(&mut self, index: usize, name: &str) -> Result<S> {
        (self.1)(self.0.get(index).map_or(OsStr::new(name), OsString::as_os_str))
    }

    fn is_source(&self, name: &str) -> bool {
        Path::new(name).exists()
    }
}

/// Parses a text with operators between blanks; `None` if it has none, or is the name of a file.
pub(super) fn detect<S>(text: &OsStr, parse: Parse<S>) -> Option<Result<Expression<S>>> {
    let text = text.to_str().filter(|text| is_expression(text) && !Path::new(text).exists())?;
    Some(Expression::parse(text, &mut Operands(&[], parse)))
}

/// The combination of operands with one operation.
pub(super) fn of_operands<S>(
    operation: Operation,
    operands: &[OsString],
    parse: Parse<S>,
) -> Result<Expression<S>> {
    let names = operands.iter().map(|operand| operand.to_string_lossy().into_owned()).collect();
    Expression::of_operands(operation, names, &mut Operands(operands, parse))
}

/// Reads the sources and combines them.
pub(super) fn combine<S>(
    expression: &Expression<S>,
    read: impl Fn(&S) -> Result<SourceFilter>,
) -> Result<Combination> {
    expression.combine(WORDING, &mut |source| read(source))
}

/// A combination of what profiles mean without the rules that a runtime adds, to write it in another language. Warns about what it
/// does not keep: conditions of profiles, and the rule of a runtime for newer syscalls.
pub(super) fn to_convert<S>(
    expression: &Expression<S>,
    options: &SourceOptions,
    read: impl Fn(&S, &SourceOptions) -> Result<SourceStack>,
    is_stdin: impl Fn(&S) -> bool,
) -> Result<SourceStack> {
    let combined = |options: &SourceOptions, is_first: bool| {
        let read = |source: &S| {
            let stack = read(source, options)?;
            let names = stack.filters.iter().flat_map(SourceFilter::conditional_names);
            names.filter(|_| is_first).for_each(warn_about_conditions);
            into_filter(stack)
        };
        to_filter(combine(expression, read)?)
    };
    let plain = combined(&options.with_statements().without_runtime_rules(), true)?;
    // Standard input can be read only once.
    if expression.sources().any(is_stdin) {
        return Ok(SourceStack::of(plain));
    }
    let with_rules = report::muted(|| combined(options, false))?;
    let mut store = Store::new(PROMPT);
    let [own, other] = [&plain, &with_rules].map(|filter| filter.diagram(&mut store));
    let (own, other) = (own?, other?);
    let is_other = |arch: Arch, nr: u32| {
        let [own, other] = [own, other].map(|func| {
            let of_arch = store.follow(func, Word::ARCH, arch.token());
            store.follow(of_arch, Word::NR, nr)
        });
        own != other
    };
    let names: BTreeSet<&str> = plain
        .arches
        .iter()
        .flat_map(|arch| arch.syscalls().filter(|(nr, _)| is_other(*arch, *nr)))
        .map(|(_, name)| name)
        .collect();
    if !names.is_empty() {
        let calls = counted(names.len() as u64, "syscall");
        let get = if names.len() == 1 { "gets" } else { "get" };
        report::warn_about(
            &plain.name,
            format!(
                "the policy is made without the rule of the runtime that newer syscalls fail with ENOSYS: {calls} {get} another \
                 verdict, unless the runtime that reads the policy has this rule"
            ),
            "`callgate compile` keeps the rule in a program",
        );
    }
    Ok(SourceStack::of(plain))
}

/// Warns that a written policy does not keep the conditions of a profile.
pub(crate) fn warn_about_conditions(name: &str) {
    report::warn_about(
        name,
        "the policy does not keep the conditions on capabilities and the kernel: it is for the present --caps and --kernel",
        "`callgate why --patch` changes the profile itself, which keeps them",
    );
}

/// The combination as a program, with the flags and the weights of the first filter. Prints warnings.
pub(super) fn to_filter(combination: Combination) -> Result<SourceFilter> {
    Ok(report::warning(|warnings| combination.into_filter(warnings))?)
}
