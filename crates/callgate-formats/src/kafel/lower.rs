//! Resolves names: from the filters of a policy to numbers and conditions for one architecture.

use std::collections::HashSet;

use super::lexer::{Mistake, Syntax};
use super::model::{Filter, Item, ItemKind, Model, Statement, Syscall};
use super::names::{Deviation, deviation, internal_names, name_in_table, own_argument};
use super::word::{Word, width_warning};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{Place, Reports, Sources, Span};
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{Argument, facts, is_known_name, known_names};
use callgate_bpf::{SyscallTable, constants};
use callgate_core::Arch;
use callgate_core::policy::{Cmp, Condition};
use callgate_core::template::{Symbol, VariableList};

/// A rule for one architecture.
pub(super) struct Lowered {
    pub(super) nr: u32,
    pub(super) when: Condition,
}

/// The rules of all filters for one architecture, by [`Filter::index`]. `None` for filters that do not apply to the
/// architecture.
pub(super) type LoweredFilters = Vec<Option<Lowered>>;

/// Resolves names for one architecture.
pub(super) struct Lowering<'a> {
    pub(super) sources: &'a Sources,
    pub(super) reports: &'a mut Reports,
    pub(super) progress: &'a mut Progress,
}

impl Lowering<'_> {
    /// The rules of all policies, also of those that are not used: Kafel checks them, too.
    pub(super) fn model(&mut self, model: &Model, arch: Arch) -> LoweredFilters {
        let mut lowered = LoweredFilters::new();
        for statement in model.policies.iter().flat_map(|policy| &policy.statements) {
            let Statement::Block { filters, .. } = statement else { continue };
            for filter in filters {
                if lowered.len() <= filter.index {
                    lowered.resize_with(filter.index + 1, || None);
                }
                if let Some(rule) = lowered.get_mut(filter.index) {
                    *rule = self.filter(filter, arch);
                }
            }
        }
        lowered
    }

    fn filter(&mut self, filter: &Filter, arch: Arch) -> Option<Lowered> {
        let is_for = |arches: &Vec<Arch>| arches.contains(&arch);
        if !filter.arches.as_ref().is_none_or(is_for) || self.progress.is_full() {
            return None;
        }
        let (nr, name) = match filter.syscall {
            Syscall::Number(nr) | Syscall::Defined(nr) => (nr, None),
            Syscall::Named => {
                let name = self.sources.text(filter.at);
                let table = name_in_table(arch, name);
                let Some(nr) = arch.number(table) else {
                    self.unknown(filter.at, name, arch);
                    return None;
                };
                (nr, Some(table))
            }
        };
        self.check_name(filter, arch, nr, name);
        let mut resolver = Resolver { lowering: self, filter, arch, syscall: name };
        match resolver.evaluate(&filter.condition) {
            Ok(when) => Some(Lowered { nr, when }),
            Err(mistake) => {
                mistake.report(self.reports);
                None
            }
        }
    }

    /// Warns where a name means another syscall than its reader may think.
    fn check_name(&mut self, filter: &Filter, arch: Arch, nr: u32, table: Option<&str>) {
        let name = self.sources.text(filter.at);
        let warning = match (filter.syscall, table) {
            (Syscall::Named, Some(table)) if table != name && table.starts_with("old") => {
                let today = arch
                    .number(name)
                    .map(|nr| format!("write SYSCALL[{nr}] for {name}(2) of today"));
                Some((format!("on {arch}, Kafel's `{name}` is the old syscall {table}"), today))
            }
            (Syscall::Defined(_), _) => {
                let other = arch.number(name_in_table(arch, name)).filter(|other| *other != nr);
                other.map(|other| {
                    let message = format!(
                        "on {arch}, `{name}` is syscall {other}, but it is defined as {}",
                        nr as i32
                    );
                    (message, Some("use another name in the #define".to_owned()))
                })
            }
            _ => None,
        };
        if let Some((message, help)) = warning {
            self.warn(filter.at.at, "name", message, help.unwrap_or_default());
        }
    }

    fn unknown(&mut self, at: Span, name: &str, arch: Arch) {
        if self.reports.is_full() {
            // Similar names take time to find.
            return self.error(at.at, String::new(), String::new());
        }
        let shown = shorten(name);
        let others: Vec<&str> = Arch::ALL
            .iter()
            .filter(|other| other.number(name_in_table(**other, name)).is_some())
            .map(|other| other.name())
            .collect();
        let (message, help) = if let [first, ..] = others.as_slice() {
            (
                format!("{arch} has no syscall `{shown}`"),
                format!(
                    "restrict the rule: `{shown} ON {first}`; the syscall exists on {}",
                    others.join(", ")
                ),
            )
        } else if is_known_name(name) {
            let help = "it exists only on other architectures or in old kernels; give a number: SYSCALL[n]";
            (format!("{arch} has no syscall `{shown}`"), help.to_owned())
        } else {
            let search = || nearest(name, known_names().chain(internal_names()));
            let near = self.reports.nearest(search);
            let help = did_you_mean(near, "use a name as in syscalls(2), or SYSCALL[n]");
            (format!("unknown syscall `{shown}`"), help)
        };
        self.error(at.at, message, help);
    }

    fn error(&mut self, at: Place, message: String, help: String) {
        if self.progress.warned.insert((at, "error")) {
            self.reports.error(at, message).help = help;
        }
    }

    fn warn(&mut self, at: Place, kind: &'static str, message: String, help: String) {
        if self.progress.warned.insert((at, kind)) {
            self.reports.warn(at, message).help = help;
        }
    }
}

/// Resolves the operands of one filter.
pub(super) struct Resolver<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    filter: &'l Filter,
    arch: Arch,
    /// The name in the kernel's table; `None` for a number.
    syscall: Option<&'l str>,
}

impl Resolver<'_, '_> {
    /// The value of an operand.
    pub(super) fn operand(&mut self, item: Item) -> Syntax<Word> {
        let sources = self.lowering.sources;
        let name = sources.text(item.at);
        match item.kind {
            ItemKind::Number(value) => Ok(Word::Number(value)),
            ItemKind::Constant(constant) => {
                let word = self.constant(item.at, sources.text(constant))?;
                if let Word::Number(value) = word {
                    self.check_definition(item.at, name, value);
                }
                Ok(word)
            }
            ItemKind::Defined(value) => {
                self.check_definition(item.at, name, value);
                Ok(Word::Number(value))
            }
            _ => match self.argument(name) {
                Some(Ok(word)) => {
                    self.check_tables(item.at, name);
                    Ok(word)
                }
                Some(Err(_)) | None if constants::is_name(name) => self.constant(item.at, name),
                Some(Err((message, help))) => Err(Mistake::new(item.at.at, message, help)),
                None => Err(self.undefined(item.at, name)),
            },
        }
    }

    /// The symbol of a variable.
    pub(super) fn variable(&mut self, item: Item) -> Syntax<Symbol> {
        let name = self.lowering.sources.text(item.at).trim_start_matches('$');
        let ItemKind::Variable { addend, is_complement } = item.kind else {
            return Err(self.undefined(item.at, name));
        };
        let symbol = self.lowering.progress.variables.symbol(name).map_err(|error| {
            Mistake::new(item.at.at, error.to_string(), "use fewer variables, with shorter names")
        })?;
        let symbol = symbol.plus(addend);
        Ok(if is_complement { symbol.complement() } else { symbol })
    }

    /// Looks at a comparison with a variable, and whether it looks at 64 bits.
    pub(super) fn compared_with_variable(
        &mut self,
        at: Span,
        symbol: Symbol,
        wide: bool,
    ) -> Syntax<()> {
        if wide {
            self.lowering.progress.variables.widen(symbol);
        }
        self.lowering.progress.count_tests(at, 1)
    }

    /// Looks at a comparison and its condition.
    pub(super) fn compared(
        &mut self,
        at: Span,
        left: &Word,
        cmp: Cmp,
        right: &Word,
        condition: &Condition,
    ) -> Syntax<()> {
        self.lowering.progress.count(at, condition)?;
        let arch = self.arch;
        if let Some((message, help)) = width_warning(arch, left, cmp, right) {
            self.lowering.warn(at.at, "width", message, help);
            return Ok(());
        }
        let is_never = *condition == Condition::never();
        if (condition.is_always() || is_never)
            && !matches!((left, right), (Word::Number(_), Word::Number(_)))
        {
            let constant = if is_never { "false" } else { "true" };
            let hint = match cmp {
                Cmp::Eq | Cmp::Ne => "a bit outside the mask cannot be equal",
                _ => "check the number",
            };
            let message = format!("this comparison is always {constant}");
            self.lowering.warn(at.at, "constant", message, hint.to_owned());
        }
        Ok(())
    }

    /// The argument of a name, or why it has no place; `None` if no argument has the name.
    fn argument(&self, name: &str) -> Option<Result<Word, (String, String)>> {
        if let Some(parameters) = &self.filter.parameters {
            let sources = self.lowering.sources;
            let index = parameters.iter().position(|own| sources.text(*own) == name)?;
            return Some(Ok(Word::argument(index as u8, true)));
        }
        let syscall = self.syscall?;
        match own_argument(self.arch, syscall, name) {
            Ok(argument) => Some(Ok(Word::argument(argument.index, argument.bits != Some(32)))),
            Err(_) if !facts(syscall)?.args.iter().any(|arg| arg.name == name) => None,
            Err(error) => {
                let help = format!(
                    "name the arguments yourself: {}(a, b, c)",
                    self.lowering.sources.text(self.filter.at)
                );
                Some(Err((error.to_string(), help)))
            }
        }
    }

    /// Warns if a defined name hides an argument, or a constant of the kernel with another value.
    fn check_definition(&mut self, at: Span, name: &str, value: u64) {
        let hidden = if self.argument(name).is_some() {
            "the argument".to_owned()
        } else {
            // A negative constant may be defined by its low half.
            match constants::value(self.arch, name) {
                Some(own) if own != value && own as u32 as u64 != value => {
                    format!("the kernel's constant {own:#x}")
                }
                _ => return,
            }
        };
        let message = format!("`{name}` is the defined number {value}, not {hidden}");
        let help = "use another name in the #define".to_owned();
        self.lowering.warn(at.at, "defined", message, help);
    }

    /// Warns about an argument that Kafel's tables describe otherwise than the kernel.
    fn check_tables(&mut self, at: Span, name: &str) {
        let Some(syscall) = self.syscall.filter(|_| self.filter.parameters.is_none()) else {
            return;
        };
        let Ok(Argument { index, bits, .. }) = own_argument(self.arch, syscall, name) else {
            return;
        };
        let message = match deviation(self.arch, syscall, name) {
            Some(Deviation::Place(place)) => format!(
                "`{name}` is argument {index} of {syscall}, counted from 0; Kafel takes argument {place}"
            ),
            Some(Deviation::Width(width)) => {
                let bits = bits.unwrap_or(64);
                format!("`{name}` of {syscall} has {bits} bits; Kafel compares {width}")
            }
            None => return,
        };
        let what = self.lowering.sources.text(self.filter.at);
        let help = format!("name the arguments, so that both do the same: {what}(a, b, c)");
        self.lowering.warn(at.at, "table", message, help);
    }

    fn constant(&mut self, at: Span, name: &str) -> Syntax<Word> {
        constants::value(self.arch, name).map(Word::Number).ok_or_else(|| {
            let message =
                format!("the constant `{}` does not exist on {}", shorten(name), self.arch);
            Mistake::new(at.at, message, "give a number, or restrict the rule with ON")
        })
    }

    fn undefined(&mut self, at: Span, name: &str) -> Mistake {
        if self.lowering.reports.is_full() {
            return Mistake::new(at.at, "", "");
        }
        let sources = self.lowering.sources;
        let parameters = self.filter.parameters.as_deref();
        let own = self
            .syscall
            .filter(|_| parameters.is_none())
            .and_then(facts)
            .map(|facts| facts.args)
            .unwrap_or_default();
        let mut known: Vec<&str> =
            parameters.unwrap_or_default().iter().map(|one| sources.text(*one)).collect();
        known.extend(own.iter().map(|arg| arg.name));
        let search =
            || nearest(name, known.iter().copied()).or_else(|| constants::nearest_name(name));
        let near = self.lowering.reports.nearest(search);
        let what = sources.text(self.filter.at);
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if parameters.is_none() && self.syscall.is_none() => {
                format!("name its arguments: {what}(a, b, c)")
            }
            None if self.syscall.and_then(facts).is_some_and(|facts| facts.args_known)
                && known.is_empty() =>
            {
                format!("{what} has no arguments: write it without a condition")
            }
            None if known.is_empty() => {
                format!("the arguments of {what} are unknown; name them: {what}(a, b, c)")
            }
            None => format!("the arguments of {what} are {}", known.join(", ")),
        };
        let message =
            format!("`{}` is neither an argument of {what} nor a constant", shorten(name));
        Mistake::new(at.at, message, help)
    }
}

/// The maximum number of tests in all conditions. A comparison of six arguments with each other has up to 2,000.
const MAX_TESTS: usize = 1_000_000;

/// What was done for all architectures so far.
#[derive(Default)]
pub(super) struct Progress {
    /// Places and kinds of messages, which are given once, not per architecture.
    warned: HashSet<(Place, &'static str)>,
    /// The variables of all architectures.
    pub(super) variables: VariableList,
    /// The tests of all conditions.
    tests: usize,
}

impl Progress {
    /// Counts the tests of a comparison.
    fn count(&mut self, at: Span, condition: &Condition) -> Syntax<()> {
        let mut tests = 0;
        condition.for_each_leaf(&mut |_| tests += 1);
        self.count_tests(at, tests)
    }

    /// Counts this number of tests.
    fn count_tests(&mut self, at: Span, tests: usize) -> Syntax<()> {
        self.tests += tests;
        if !self.is_full() {
            return Ok(());
        }
        let message = format!("the comparisons have more than {MAX_TESTS} tests of arguments");
        let help = "compare fewer arguments with each other, or give fewer architectures";
        Err(Mistake::new(at.at, message, help).too_large())
    }

    /// Whether the limit is exceeded, so that no more conditions are made.
    fn is_full(&self) -> bool {
        self.tests > MAX_TESTS
    }
}
