//! Reader of policies: from the text to a [`MinijailPolicy`].

use std::collections::BTreeMap;

use super::operands::{ARCHES, arch_name};
use super::parse::{Filter, Model, Parser, Statement};
use super::semantics::Semantics;
use super::statements::{Frequency, MinijailPolicy, ReadOptions, Reading};
use crate::diagnostics::quote::shorten;
use crate::included::{
    Includes, OTHER, Place, Reports, Sources, Span, Stated, check_text_size, no_files, statements,
};
use crate::profile::Profile;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Arch, Verdict};

/// Reads a policy that includes no files.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::minijail::{ReadOptions, read};
///
/// let policy = read("write: arg0 == 1", &ReadOptions::new(Arch::X86_64))?.profile.policy;
/// let mut write = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(policy.evaluate(&write), Verdict::KILL_THREAD);
/// write.args[0] = 1;
/// assert_eq!(policy.evaluate(&write), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error. `@include` and `@frequency` are errors.
pub fn read(text: &str, options: &ReadOptions) -> Result<MinijailPolicy, Diagnostics> {
    read_with_includes(text, options, &mut no_files)
}

/// Reads a policy; `includes` returns the files that it names.
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read_with_includes(
    text: &str,
    options: &ReadOptions,
    includes: &mut Includes<'_>,
) -> Result<MinijailPolicy, Diagnostics> {
    let arch = options.arch;
    if arch_name(arch).is_none() {
        let names = ARCHES.map(|(_, arch)| arch.name()).join(", ");
        let message = format!("minijail has no filters for {arch}");
        let help = format!("give one of its architectures: {names}");
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    check_text_size(text)?;
    let Reading { sources, mut reports, model, frequencies, .. } =
        Reading::new(text, options, includes).read();
    let lowered =
        if reports.failed() { None } else { lower(&model, options, &sources, &mut reports) };
    let (profile, warnings) = reports.end(&sources, lowered)?;
    let frequency = |(name, count)| Frequency { name, count };
    Ok(MinijailPolicy {
        profile: Profile { warnings, ..profile },
        frequencies: frequencies.into_iter().map(frequency).collect(),
    })
}

/// The maximum number of comparisons, counted for each syscall.
const MAX_COMPARISONS: usize = 150_000;

/// A syscall and the statements with its filters.
struct Chain {
    at: Span,
    statements: Vec<usize>,
}

/// The policy of a model. `None` only after an error was reported.
pub(super) fn lower(
    model: &Model,
    options: &ReadOptions,
    sources: &Sources,
    reports: &mut Reports,
) -> Option<Profile> {
    let kill = Parser::kill(model.is_denylist);
    let nothing = if model.is_denylist { Verdict::ALLOW } else { kill };
    let default = model.default.map_or(nothing, |(verdict, _)| verdict);
    let unlisted = if model.is_denylist { Verdict::ALLOW } else { default };
    if let Some((_, at)) = model.default.filter(|_| model.is_denylist) {
        let message = "with @denylist, @default has no effect on syscalls without a statement";
        reports.warn(at, message).help =
            "it is the action for the others if no condition holds; remove it to allow them"
                .to_owned();
    }
    let start = Place { source: 0, offset: 0 };
    if model.statements.is_empty() {
        let message = format!("the policy has no syscalls: every syscall gets {unlisted}");
        reports.warn(start, message).help = "add a statement such as `read: 1`".to_owned();
    }
    let mut chains: BTreeMap<u32, Chain> = BTreeMap::new();
    for (index, statement) in model.statements.iter().enumerate() {
        for syscall in &statement.syscalls {
            let new = || Chain { at: syscall.at, statements: Vec::new() };
            chains.entry(syscall.nr).or_insert_with(new).statements.push(index);
        }
    }
    check_size(model, &chains, reports);
    if options.semantics == Some(Semantics::C) {
        check_duplicates(model, &chains, sources, reports);
    }
    if reports.failed() {
        return None;
    }
    // Syscalls with the same filters share their rules.
    let mut groups: BTreeMap<Vec<usize>, (Span, Vec<u32>)> = BTreeMap::new();
    for (nr, Chain { at, statements }) in chains {
        groups.entry(statements).or_insert_with(|| (at, Vec::new())).1.push(nr);
    }
    let mut rules = Vec::new();
    let mut stated = Vec::new();
    for (indices, (at, numbers)) in groups {
        let own: Vec<&Statement> =
            indices.iter().filter_map(|index| model.statements.get(*index)).collect();
        let filters: Vec<&Filter> = own.iter().flat_map(|statement| &statement.filters).collect();
        let effective = effective(&filters, default, model.is_denylist, at, sources, reports);
        if options.statements {
            stated.extend(stated_rules(&own, &numbers, effective.len() == 1, options.arch));
        }
        for (when, verdict) in effective {
            rules.push(Rule { syscalls: numbers.iter().copied().collect(), when, verdict });
        }
    }
    if reports.failed() {
        return None;
    }
    let statements =
        options.statements.then(|| statements(sources, stated, model.default.map(|(_, at)| at)));
    match Policy::new(vec![Section::new(options.arch, rules, unlisted)], kill) {
        Ok(policy) => Some(Profile { statements, ..Profile::of(policy) }),
        Err(error) => {
            reports.error(start, error.to_string());
            None
        }
    }
}

/// The rules of statements for these syscalls, with their places; `always` if their conditions have no effect.
fn stated_rules(
    statements: &[&Statement],
    numbers: &[u32],
    always: bool,
    arch: Arch,
) -> Vec<Stated> {
    let mut stated = Vec::new();
    for statement in statements {
        for syscall in statement.syscalls.iter().filter(|syscall| numbers.contains(&syscall.nr)) {
            let filters = statement.filters.iter();
            let (at, nr) = (syscall.at, syscall.nr);
            for filter in filters.filter(|filter| !always || filter.when.is_none()) {
                let when = filter.when.as_deref().map_or_else(Condition::always, condition);
                stated.push(Stated { at, arch, nr, when, verdict: filter.action });
            }
        }
    }
    stated
}

/// The conditions and verdicts of a syscall, in the order in which they are tested. The last has no condition.
fn effective(
    filters: &[&Filter],
    default: Verdict,
    is_denylist: bool,
    syscall: Span,
    sources: &Sources,
    reports: &mut Reports,
) -> Vec<(Condition, Verdict)> {
    let name = || shorten(sources.text(syscall));
    let last = filters.iter().position(|filter| filter.when.is_none());
    if let Some((decides, after)) =
        last.and_then(|last| Some((filters.get(last)?, filters.get(last + 1)?)))
    {
        let message = format!("`{}` already has an action without a condition at {OTHER}", name());
        reports.error_with(after.at, decides.at, message).help =
            "remove one of the two; conditions come first".to_owned();
        return Vec::new();
    }
    let last = last.and_then(|last| filters.get(last));
    let otherwise = last.map_or(default, |filter| filter.action);
    let is_ignored = filters.len() > 1 && otherwise == Verdict::ALLOW && !is_denylist;
    if let (Some(last), Some(first), true) = (last, filters.first(), is_ignored) {
        let message = format!(
            "the conditions of `{}` have no effect: minijail's compiler ignores them, because the action at \
             {OTHER} allows the syscall",
            name()
        );
        reports.warn_with(first.at, last.at, message).help =
            "remove them, or give another action where no condition holds".to_owned();
        return vec![(Condition::always(), Verdict::ALLOW)];
    }
    let mut rules: Vec<(Condition, Verdict)> = filters
        .iter()
        .filter_map(|filter| Some((condition(filter.when.as_ref()?), filter.action)))
        .collect();
    rules.push((Condition::always(), otherwise));
    rules
}

fn condition(when: &[Vec<Condition>]) -> Condition {
    Condition::any(when.iter().map(|all| Condition::all(all.iter().cloned())))
}

/// Reports second statements for a syscall, which the parser in C refuses.
fn check_duplicates(
    model: &Model,
    chains: &BTreeMap<u32, Chain>,
    sources: &Sources,
    reports: &mut Reports,
) {
    for (nr, chain) in chains {
        let Some(second) = chain.statements.get(1).and_then(|index| model.statements.get(*index))
        else {
            continue;
        };
        let Some(syscall) = second.syscalls.iter().find(|syscall| syscall.nr == *nr) else {
            continue;
        };
        let name = shorten(sources.text(syscall.at));
        let message = format!(
            "minijail's parser in C refuses this second statement for `{name}`; the first is at {OTHER}"
        );
        reports.error_with(syscall.at.at, chain.at.at, message).help =
            "join the conditions with `||`; a minijail built with ALLOW_DUPLICATE_SYSCALLS takes the first".to_owned();
    }
}

/// Reports comparisons beyond the limit.
fn check_size(model: &Model, chains: &BTreeMap<u32, Chain>, reports: &mut Reports) {
    let sizes: Vec<usize> = model
        .statements
        .iter()
        .map(|statement| {
            statement.filters.iter().flat_map(|one| &one.when).flatten().map(Vec::len).sum()
        })
        .collect();
    let statements = chains.values().flat_map(|chain| &chain.statements);
    let count: usize = statements.filter_map(|index| sizes.get(*index)).sum();
    if count > MAX_COMPARISONS {
        let message = format!(
            "the policy has {count} comparisons, counted for each syscall; the limit is {MAX_COMPARISONS}"
        );
        let start = Place { source: 0, offset: 0 };
        reports.error(start, message).set_too_large("split the policy");
    }
}
