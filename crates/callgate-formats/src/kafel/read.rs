//! Reader of policies: from the text to a [`Profile`].

use super::lower::{Lowered, Lowering};
use super::model::{Filter, Item, ItemKind, Model, Statement};
use super::options::ReadOptions;
use super::parse::{MAX_RULES, Parser};
use super::progress::Progress;
use super::rules::rules;
use super::tokens::Tokens;
use crate::diagnostics::quote::shorten;
use crate::included::{
    Includes, Place, Reports, Sources, Stated, check_text_size, no_files, statements,
};
use crate::profile::Profile;
use crate::statements::Statements;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Topic};
use callgate_core::policy::{Policy, Rule, Section};
use callgate_core::{Arch, Verdict, X32_SYSCALL_BIT};

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
    let failed = reports.failed();
    let messages = reports.finish(&sources);
    match lowered {
        Some((policy, statements)) if !failed => {
            Ok(Profile { warnings: messages, statements, ..Profile::of(policy) })
        }
        _ => Err(messages.into()),
    }
}

/// The policy of a model. `None` only after an error was reported.
fn lower(
    model: &Model,
    options: &ReadOptions,
    sources: &Sources,
    reports: &mut Reports,
) -> Option<(Policy, Option<Statements>)> {
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
        let lowered = Lowering::new(sources, reports, &mut progress).model(model, arch);
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
        Ok(policy) => Some((policy, statements)),
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
        warning.help = "read the policy for x86_64 and x32, or list what is allowed".to_owned();
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
            reports.error(start, message).help =
                "split the policy, or give fewer architectures".to_owned();
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
