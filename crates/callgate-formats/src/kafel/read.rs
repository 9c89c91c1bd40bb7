//! Reader of policies: from the text to a [`Profile`].

use std::collections::HashMap;

use super::lexer::Tokens;
use super::lower::{Lowered, LoweredFilters, Lowering, Progress};
use super::model::{Filter, Item, ItemKind, Model, Statement};
use super::parse::{MAX_RULES, Parser};
use crate::diagnostics::quote::shorten;
use crate::included::{
    Includes, OTHER, Place, Reports, Sources, Stated, check_text_size, no_files, statements,
};
use crate::profile::Profile;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Topic};
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

/// The verdict for syscalls of other architectures, and without `DEFAULT` for those that no rule matches.
const KILL: Verdict = Verdict::KILL_THREAD;

/// The maximum number of comparisons, counted for each architecture.
const MAX_COMPARISONS: usize = 150_000;

/// Reads a policy that includes no files.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::kafel::{ReadOptions, read};
///
/// let text = "POLICY p { ALLOW { write { fd == 1 } } } USE p DEFAULT ERRNO(1)";
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let mut write = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&write), Verdict::errno(1));
/// write.args[0] = 1;
/// assert_eq!(profile.policy.evaluate(&write), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error. `#include` is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    read_with_includes(text, options, &mut no_files)
}

/// Reads a policy; `includes` returns the files that it includes.
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read_with_includes(
    text: &str,
    options: &ReadOptions,
    includes: &mut Includes<'_>,
) -> Result<Profile, Diagnostics> {
    check_text_size(text)?;
    if options.arches.is_empty() {
        return Err(Diagnostic::error(None, "no architecture is given")
            .help("give at least one")
            .into());
    }
    let (model, tokens, is_right) =
        Parser::new(Tokens::new(text, options.identity.as_deref(), includes)).parse();
    let (sources, mut reports) = (tokens.sources, tokens.reports);
    let lowered = if is_right { lower(&model, options, &sources, &mut reports) } else { None };
    let (profile, warnings) = reports.end(&sources, lowered)?;
    Ok(Profile { warnings, ..profile })
}

/// The policy of a model. `None` only after an error was reported.
fn lower(
    model: &Model,
    options: &ReadOptions,
    sources: &Sources,
    reports: &mut Reports,
) -> Option<Profile> {
    let start = Place { source: 0, offset: 0 };
    let default = model.default.map_or(KILL, |(verdict, _)| verdict);
    let mut arches: Vec<Arch> = Vec::new();
    for arch in &options.arches {
        if !arches.contains(arch) {
            arches.push(*arch);
        }
    }
    check_size(model, arches.len(), reports);
    if reports.failed() {
        return None;
    }
    let mut progress = Progress::default();
    let mut ordered: Vec<(Arch, Vec<Rule>)> = Vec::new();
    let mut stated: Vec<Stated> = Vec::new();
    for (index, arch) in arches.into_iter().enumerate() {
        let lowered = Lowering { sources, reports, progress: &mut progress }.model(model, arch);
        // What has no effect is reported for the first architecture.
        let mut unused = Reports::default();
        let to = if index == 0 { &mut *reports } else { &mut unused };
        let state = |filter: &Filter, rule: &Lowered, verdict| {
            if options.statements {
                let (at, nr, when) = (filter.at, rule.nr, rule.when.clone());
                stated.push(Stated { at, arch, nr, when, verdict });
            }
        };
        let (rules, used) = rules(model, lowered, sources, to, state);
        if index == 0 {
            report_unused(model, &used, sources, reports);
        }
        ordered.push((arch, rules));
    }
    if model.default.is_none() {
        reports
            .warn(
                start,
                "no DEFAULT: Kafel kills the thread for every syscall that no rule matches",
            )
            .help = "write DEFAULT KILL if that is meant".to_owned();
    }
    report_x32(model, default, &ordered, reports);
    let mut sections: Vec<Section> = Vec::new();
    for (arch, rules) in ordered {
        let same = sections.iter().position(|section| section.token() == arch.token());
        let Some(section) = same.and_then(|index| sections.get_mut(index)) else {
            sections.push(Section::new(arch, rules, default));
            continue;
        };
        let all = section.rules.iter().cloned().chain(rules).collect();
        match section.with_rules(all).and_arch(arch) {
            Ok(joined) => *section = joined,
            Err(error) => drop(reports.error(start, error.to_string())),
        }
    }
    let statements =
        options.statements.then(|| statements(sources, stated, model.default.map(|(_, at)| at)));
    match Policy::with_variables(sections, KILL, progress.variables.into_variables()) {
        Ok(policy) => Some(Profile { statements, ..Profile::of(policy) }),
        Err(error) => {
            reports.error(start, error.to_string()).set_help(Advice::PolicyArches);
            None
        }
    }
}

/// Warns if rules deny syscalls of x86_64, but not those of x32, which have the same arch token.
fn report_x32(
    model: &Model,
    default: Verdict,
    ordered: &[(Arch, Vec<Rule>)],
    reports: &mut Reports,
) {
    let rules = |arch: Arch| ordered.iter().find(|(own, _)| *own == arch).map(|(_, rules)| rules);
    let (Some(native), None, Some((_, at))) =
        (rules(Arch::X86_64), rules(Arch::X32), model.default)
    else {
        return;
    };
    if default.permits() && native.iter().any(|rule| !rule.verdict.permits()) {
        let message = format!(
            "programs can evade these rules with syscalls of x32 (numbers from {X32_SYSCALL_BIT:#x}), which get DEFAULT {default}"
        );
        let warning = reports.warn(at, message);
        warning.help = "read the policy for both (--arch x86_64 --arch x32; arches in the libraries), or list what is \
                        allowed"
            .to_owned();
        warning.topic = Some(Topic::X32);
    }
}

/// Reports rules and comparisons beyond the limits, which count for each architecture.
fn check_size(model: &Model, arches: usize, reports: &mut Reports) {
    let start = Place { source: 0, offset: 0 };
    let (mut rules, mut comparisons) = (0_usize, 0_usize);
    for statement in model.policies.iter().flat_map(|policy| &policy.statements) {
        let Statement::Block { filters, .. } = statement else { continue };
        rules += filters.len();
        let is_comparison = |item: &&Item| matches!(item.kind, ItemKind::Compare(_));
        comparisons += filters
            .iter()
            .map(|one| one.condition.iter().filter(is_comparison).count())
            .sum::<usize>();
    }
    for (what, count, max) in
        [("rules", rules, MAX_RULES), ("comparisons", comparisons, MAX_COMPARISONS)]
    {
        let count = count.saturating_mul(arches);
        if count > max {
            let message = format!(
                "the policy has {count} {what} on {arches} architectures, the maximum is {max}"
            );
            let help = "split the policy, or give fewer architectures";
            reports.error(start, message).set_too_large(help);
        }
    }
}

/// Warns about policies that are not used, and if the top level has no statements.
fn report_unused(model: &Model, used: &[bool], sources: &Sources, reports: &mut Reports) {
    let is_empty = model.policies.first().is_none_or(|main| {
        let mut statements = main.statements.iter();
        statements.all(|one| matches!(one, Statement::Block { filters, .. } if filters.is_empty()))
    });
    if is_empty {
        let start = Place { source: 0, offset: 0 };
        let message =
            "the policy has no rules at the top level: every syscall gets the default action";
        reports.warn(start, message).help = "add USE with the name of a policy".to_owned();
    }
    for (policy, used) in model.policies.iter().zip(used).skip(1) {
        if let Some(name) = policy.name.filter(|_| !used) {
            let message = format!("policy `{}` is not used", shorten(sources.text(name)));
            reports.warn(name.at, message).help = "add USE with its name, or remove it".to_owned();
        }
    }
}

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architectures of the filter, at least one. A syscall that one of them lacks is an error, unless the policy
    /// restricts it with `ON`.
    pub arches: Vec<Arch>,
    /// Tells the policy from its included files, as [`Included::identity`](super::Included::identity); `None` if it is not
    /// known.
    pub identity: Option<String>,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for one architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions::for_arches(vec![arch])
    }

    /// Reads for these architectures.
    pub fn for_arches(arches: Vec<Arch>) -> ReadOptions {
        ReadOptions { arches, identity: None, statements: false }
    }
}

/// The rules of the top level, with those of the used policies at the place of their first `USE`. The second result
/// tells which policies are used. `stated` gets each rule, with its filter and its verdict.
pub(super) fn rules(
    model: &Model,
    mut lowered: LoweredFilters,
    sources: &Sources,
    reports: &mut Reports,
    mut stated: impl FnMut(&Filter, &Lowered, Verdict),
) -> (Vec<Rule>, Vec<bool>) {
    let mut used: Vec<Option<Place>> = vec![None; model.policies.len()];
    let mut list = List::default();
    // Policies that are being read, with the next statement; the innermost last.
    let mut open = vec![(0, 0)];
    while let Some((policy, next)) = open.last_mut() {
        let (policy, statement) = (*policy, std::mem::replace(next, *next + 1));
        match model.policies.get(policy).and_then(|body| body.statements.get(statement)) {
            None => drop(open.pop()),
            Some(Statement::Use { policy: inner, at }) => match used.get_mut(*inner) {
                Some(Some(first)) => {
                    let message =
                        format!("this policy is already used at {OTHER}, so it has no effect here");
                    reports.warn_with(*at, *first, message).help = "remove it".to_owned();
                }
                Some(first) => {
                    *first = Some(*at);
                    open.push((*inner, 0));
                }
                None => {}
            },
            Some(Statement::Block { verdict, filters }) => {
                for filter in filters {
                    let rule = lowered.get_mut(filter.index).and_then(Option::take);
                    let Some(rule) = rule else { continue };
                    stated(filter, &rule, *verdict);
                    if let Some(first) = list.decided.get(&rule.nr) {
                        let name = shorten(sources.text(filter.at));
                        let message = format!(
                            "`{name}` has no effect here: the rule at {OTHER} decides every call"
                        );
                        let warning = reports.warn_with(filter.at.at, *first, message);
                        warning.help = "remove one of the two rules".to_owned();
                        warning.topic = Some(Topic::Overruled);
                        continue;
                    }
                    list.add(rule, *verdict, filter.at.at);
                }
            }
        }
    }
    (list.finish(), used.iter().map(Option::is_some).collect())
}

/// Rules; unconditional ones with the same verdict are joined.
#[derive(Default)]
struct List {
    rules: Vec<Rule>,
    /// The syscalls for which a rule without a condition exists, and its place.
    decided: HashMap<u32, Place>,
    /// Numbers with one verdict that are not yet a rule.
    open: Option<(Verdict, Vec<u32>)>,
}

impl List {
    fn add(&mut self, rule: Lowered, verdict: Verdict, at: Place) {
        if rule.when == Condition::never() {
            return;
        }
        if !rule.when.is_always() {
            self.close();
            self.rules.push(Rule { syscalls: SyscallSet::one(rule.nr), when: rule.when, verdict });
            return;
        }
        self.decided.insert(rule.nr, at);
        match &mut self.open {
            Some((same, numbers)) if *same == verdict => numbers.push(rule.nr),
            _ => {
                self.close();
                self.open = Some((verdict, vec![rule.nr]));
            }
        }
    }

    fn close(&mut self) {
        if let Some((verdict, numbers)) = self.open.take() {
            let syscalls = numbers.into_iter().collect();
            self.rules.push(Rule { syscalls, when: Condition::always(), verdict });
        }
    }

    fn finish(mut self) -> Vec<Rule> {
        self.close();
        self.rules
    }
}
