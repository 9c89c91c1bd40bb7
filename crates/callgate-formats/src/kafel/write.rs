//! Kafel policies.

use callgate_bpf::SyscallTable;
use std::collections::{BTreeMap, BTreeSet};

use super::text::{self, PolicyText, action, is_identifier};
use super::write_expression::{Expression, expression, length};
use crate::convert::alternatives::Conjunction;
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::strictness::{is_as_strict, strictest};
use crate::kafel::names::{name_in_table, names_in_kafel};
use callgate_core::diagram::Func;
use callgate_core::{Action, Arch, Verdict};

/// The verdict of other architectures in Kafel.
const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// The maximum length of an interval of numbers that is listed.
const MAX_LISTED: u32 = 1024;

/// A rule of a syscall: the verdict if an expression holds; without one, always.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    verdict: Verdict,
    when: Option<Expression>,
}

/// How Kafel names a syscall.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Head {
    Name(String),
    Number(u32),
}

/// Writes a policy.
pub(crate) fn write(fit: &mut Fit<'_>) -> Result<String, ConvertError> {
    fit_verdicts(fit)?;
    fit.set_others(BAD_ARCH, "Kafel kills syscalls of other architectures (KILL)")?;
    let default = default(fit)?;
    let mut defines = BTreeMap::new();
    let mut heads: BTreeMap<Head, BTreeMap<Vec<Rule>, BTreeSet<Arch>>> = BTreeMap::new();
    for (arch, nr) in listed(fit, default)? {
        let rules = rules(fit, arch, nr, default, &mut defines)?;
        if !rules.is_empty() {
            let head = head(arch, nr);
            heads.entry(head).or_default().entry(rules).or_default().insert(arch);
        }
    }
    Ok(text_of(fit, default, &heads, &defines))
}

/// Replaces verdicts that no action has.
fn fit_verdicts(fit: &mut Fit<'_>) -> Result<(), ConvertError> {
    for verdict in fit.store.verdicts(fit.func) {
        let (nearest, why) = match verdict.action() {
            Action::Errno(_) | Action::Trap(_) | Action::Trace(_) | Action::UserNotif(0) => {
                continue;
            }
            _ if action(verdict).is_some() => continue,
            Action::UserNotif(_) => (Verdict::user_notif(0), "USER_NOTIF takes no number"),
            Action::Allow => (Verdict::ALLOW, "ALLOW takes no number"),
            Action::Log => (Verdict::LOG, "LOG takes no number"),
            Action::KillThread => (Verdict::KILL_THREAD, "KILL takes no number"),
            _ => (Verdict::KILL_PROCESS, "there is no such action; the kernel kills the process"),
        };
        fit.replace_verdict(verdict, nearest, why)?;
    }
    Ok(())
}

/// The verdict of numbers that are not listed, and of all intervals of numbers that are too long to be listed: if one is
/// exact, then this one, otherwise the one with which fewer numbers are listed.
fn default(fit: &mut Fit<'_>) -> Result<Verdict, ConvertError> {
    let mut long: Vec<(u32, u32, u32, Func)> = Vec::new();
    let mut short: Vec<(u64, Func)> = Vec::new();
    for token in fit.tokens() {
        for one in fit.intervals(token)? {
            let more = one.last - one.first;
            match more >= MAX_LISTED {
                true => long.push((token, one.first, one.last, one.then)),
                false => short.push((u64::from(more) + 1, one.then)),
            }
        }
    }
    let mut candidates: BTreeSet<Verdict> =
        long.iter().filter_map(|(_, _, _, func)| fit.store.as_verdict(*func)).collect();
    candidates.insert(strictest(long.iter().map(|(_, _, _, func)| fit.strictest(*func))));
    let cost = |default: &Verdict| {
        let (mut is_lax, mut changed) = (false, 0u64);
        for (_, first, last, func) in &long {
            if fit.store.as_verdict(*func) != Some(*default) {
                changed += u64::from(last - first) + 1;
                let verdicts = fit.store.verdicts(*func);
                is_lax |= verdicts.into_iter().any(|old| !is_as_strict(*default, old));
            }
        }
        let is_listed = |func: &Func| fit.store.as_verdict(*func) != Some(*default);
        let listed = short.iter().filter(|(_, func)| is_listed(func));
        (is_lax, changed > 0, listed.map(|(count, _)| count).sum::<u64>(), changed)
    };
    let default = candidates.iter().min_by_key(|default| cost(default)).copied();
    let default = default.unwrap_or(Verdict::KILL_PROCESS);
    for (token, first, last, func) in long {
        if fit.store.as_verdict(func) != Some(default) {
            let why = "too many syscall numbers to list in Kafel; they get the default action";
            fit.replace_numbers(token, (first, last), default, why)?;
        }
    }
    Ok(default)
}

/// The numbers that do not have the default verdict, with the ABI that names them.
fn listed(fit: &Fit<'_>, default: Verdict) -> Result<Vec<(Arch, u32)>, ConvertError> {
    /// The maximum number of rules.
    const MAX: usize = 100_000;
    let mut listed = Vec::new();
    for token in fit.tokens() {
        for interval in fit.intervals(token)? {
            if fit.store.as_verdict(interval.then) == Some(default) {
                continue;
            }
            if listed.len() + (interval.last - interval.first) as usize > MAX {
                return Err(ConvertError::too_many_numbers(MAX, "the policy".to_owned()));
            }
            for nr in interval.first..=interval.last {
                let own = Arch::of_syscall(token, nr).filter(|arch| fit.arches.contains(arch));
                let any = fit.arches.iter().copied().find(|arch| arch.token() == token);
                listed.extend(own.or(any).map(|arch| (arch, nr)));
            }
        }
    }
    Ok(listed)
}

/// Kafel's name of a syscall, or its number.
fn head(arch: Arch, nr: u32) -> Head {
    let Some(name) = arch.syscall_name(nr) else { return Head::Number(nr) };
    let mut names = names_in_kafel(arch, name).into_iter();
    let is_name =
        |name: &String| arch.number(name_in_table(arch, name)) == Some(nr) && is_identifier(name);
    names.find(is_name).map_or(Head::Number(nr), Head::Name)
}

/// The rules of a syscall, in order; none for the default verdict.
fn rules(
    fit: &mut Fit<'_>,
    arch: Arch,
    nr: u32,
    default: Verdict,
    defines: &mut BTreeMap<String, u64>,
) -> Result<Vec<Rule>, ConvertError> {
    let func = fit.syscall(arch.token(), nr);
    if let Some(verdict) = fit.store.as_verdict(func) {
        return Ok(vec![Rule { verdict, when: None }]);
    }
    let name = arch.syscall_name(nr);
    // Only a syscall that is named has arguments with names.
    let named = name.filter(|_| matches!(head(arch, nr), Head::Name(_)));
    let mut cases: Vec<(Verdict, Vec<Conjunction>)> = Vec::new();
    for verdict in fit.store.verdicts(func) {
        let all = fit.alternatives(func, verdict);
        let all = all.map_err(|stop| {
            let text = name.map_or_else(|| format!("syscall {nr}"), str::to_owned);
            ConvertError::of_syscall(stop, || format!("{text} ({arch})"))
        })?;
        cases.push((verdict, all));
    }
    // The default, or else the verdict with the longest condition, needs none.
    cases.sort_by_key(|(verdict, all)| {
        (*verdict == default, length(all), !verdict.permits(), *verdict)
    });
    let rest = cases.pop();
    let mut rules = Vec::new();
    for (verdict, all) in cases {
        match expression(arch, named, &all, &fit.arches, defines) {
            Some(when) => rules.push(Rule { verdict, when: Some(when) }),
            None => {
                let verdict = fit.strictest(func);
                let why = "Kafel cannot test the instruction pointer";
                fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
                let is_default = verdict == default;
                return Ok(if is_default {
                    Vec::new()
                } else {
                    vec![Rule { verdict, when: None }]
                });
            }
        }
    }
    let rest = rest.filter(|(verdict, _)| *verdict != default);
    rules.extend(rest.map(|(verdict, _)| Rule { verdict, when: None }));
    Ok(rules)
}

/// Blocks of a policy: those without conditions, those with conditions, and the rest of the latter.
type Blocks = [BTreeMap<(u32, Verdict), Vec<String>>; 3];

/// The place of a block: ALLOW first, then the others by precedence.
fn place(verdict: Verdict) -> u32 {
    !(verdict.0 ^ 1 << 31)
}

fn text_of(
    fit: &Fit<'_>,
    default: Verdict,
    heads: &BTreeMap<Head, BTreeMap<Vec<Rule>, BTreeSet<Arch>>>,
    defines: &BTreeMap<String, u64>,
) -> String {
    let mut blocks = Blocks::default();
    let mut add = |kind: usize, verdict: Verdict, item: String| {
        if let Some(items) = blocks.get_mut(kind) {
            items.entry((place(verdict), verdict)).or_default().push(item);
        }
    };
    for (head, bodies) in heads {
        for (rules, arches) in bodies {
            let word = match head {
                Head::Name(name) => name.clone(),
                Head::Number(nr) => format!("SYSCALL[{nr}]"),
            };
            let is_for_all = fit.arches.iter().all(|arch| arches.contains(arch));
            let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
            let on = match names.as_slice() {
                _ if is_for_all => String::new(),
                [one] => format!(" ON {one}"),
                names => format!(" ON {{{}}}", names.join(", ")),
            };
            let is_conditional = rules.iter().any(|rule| rule.when.is_some());
            for rule in rules {
                match &rule.when {
                    None => {
                        add(if is_conditional { 2 } else { 0 }, rule.verdict, format!("{word}{on}"))
                    }
                    Some(Expression { parameters, alternatives }) => {
                        let head = format!("{word}{parameters}{on}");
                        add(1, rule.verdict, text::rule("", &head, alternatives));
                    }
                }
            }
        }
    }
    let mut text = PolicyText::default();
    let arches: Vec<&str> = fit.arches.iter().map(|arch| arch.name()).collect();
    text.comment(&format!("For {}.", arches.join(", ")));
    for (name, value) in defines {
        match *value < 4096 {
            true => text.define(name, value),
            false => text.define(name, format_args!("{value:#x}")),
        }
    }
    for (kind, blocks) in blocks.iter().enumerate() {
        for ((_, verdict), items) in blocks {
            match kind {
                1 => text.conditional(*verdict, items),
                _ => text.block("", *verdict, items),
            }
        }
    }
    text.finish("converted", default)
}
