//! Reasons as text.

use callgate_bpf::SyscallTable;
use std::collections::HashMap;
use std::fmt::Write;

use callgate::purposes::{Danger, DangerousValue, danger};
use callgate::{Arch, Verdict};
use callgate_formats::CapSet;
use callgate_formats::change::{Allowed, SideEffect};
use callgate_formats::statements::{Inactive, Site, Statement};
use callgate_formats::why::{Cause, Why};

use super::answer::Answer;
use super::change::{Advice, Change, call};
use super::patch::patch_lines;
use super::reason::{FilterReason, Reason, condition};
use crate::outcome::colored;
use crate::output::wrap;
use crate::text::printable;
use callgate_requests::syscall;

/// The most conditions at one place that are listed one by one.
const MAX_CONDITIONS: usize = 4;

/// The most rules of a kind that are listed.
const MAX_RULES: usize = 20;

/// The verdict and its reason, and those of the other filters. It is the same for all values of the arguments `any`.
pub(super) fn answer(answer: &Answer<'_>, any: &[u8]) -> String {
    let arch = syscall::arch_name(answer.arch, answer.data.arch);
    let call = syscall::show_any(answer.arch, &answer.data, any);
    let mut text = format!("{arch} {call}: {}\n", colored(answer.verdict));
    let Some((first, others)) = answer.filters.split_first() else { return text };
    if !others.is_empty() {
        let count = answer.filters.len();
        let name = printable(first.name);
        let _ = writeln!(text, "decided by {name}, one of {count} filters");
    }
    filter(&mut text, answer, first);
    let (allow, others): (Vec<_>, Vec<_>) =
        others.iter().partition(|other| other.verdict == Verdict::ALLOW);
    match allow.as_slice() {
        [] => {}
        [only] => {
            // systemd installs a filter for each architecture of programs.
            let rules = only.statements.and_then(|all| all.rules.first());
            let own = rules.map(|rule| rule.arch).filter(|_| only.is_of_other_arch());
            let of = own.map_or_else(String::new, |own| format!(", which is for {own} programs"));
            wrap(&mut text, &format!("allowed by {}{of}", printable(only.name)), 0, 2);
        }
        several => {
            let _ = writeln!(text, "allowed by {} other filters", several.len());
        }
    }
    for other in others {
        let _ = writeln!(text, "\n{}: {}", printable(other.name), colored(other.verdict));
        filter(&mut text, answer, other);
    }
    text
}

fn filter(text: &mut String, answer: &Answer<'_>, filter: &FilterReason<'_>) {
    match &filter.reason {
        Reason::Instruction { index, text: insn } => {
            let name = printable(filter.name);
            let _ = writeln!(text, "  {name}: instruction {index} returns it: {insn}");
        }
        Reason::Policy => {
            say(text, &format!("{} as a whole", printable(filter.name)));
        }
        Reason::Text(why) => rules(text, answer, filter, why),
    }
}

fn rules(text: &mut String, answer: &Answer<'_>, filter: &FilterReason<'_>, why: &Why<'_>) {
    let place = |site: &Site| {
        let file = site.file.as_deref().unwrap_or(filter.name);
        format!("{}:{}:{}", printable(file), site.position.line, site.position.column)
    };
    match &why.cause {
        Cause::Rules(rules) => list(text, rules, |text, rule| {
            let when = describe(rule, answer).map_or(String::new(), |when| format!(" if {when}"));
            say(text, &format!("{}: {} {}{when}", place(&rule.site), rule.verdict, name(rule)));
        }),
        Cause::Builtin(rule) => say(text, &format!("{}: {}", rule.verdict, rule.reason)),
        Cause::OtherArch => {
            let default = filter.statements.and_then(|all| all.default.as_ref());
            let at = default.map_or_else(|| printable(filter.name).to_string(), place);
            say(text, &format!("{at}: the filter is not for this architecture"));
        }
        Cause::Default(site) => {
            let at = site.map_or_else(|| printable(filter.name).to_string(), place);
            say(text, &format!("{at}: the default action, because no rule applies"));
        }
    }
    heading(text, "overruled:", &why.overruled, |text, rule| {
        let when = describe(rule, answer).map_or(String::new(), |when| format!(" if {when}"));
        say(text, &format!("{}: {} {}{when}", place(&rule.site), rule.verdict, name(rule)));
    });
    // A directive of systemd can have dozens of rules.
    let places = by_place(&why.unmet);
    heading(text, "conditions that are not met:", &places, |text, rules| {
        let Some(rule) = rules.first() else { return };
        let when = match rules.len() {
            1 => describe(rule, answer).unwrap_or_default(),
            count => format!("one of {count} conditions holds"),
        };
        say(text, &format!("{}: {} {} if {when}", place(&rule.site), rule.verdict, name(rule)));
    });
    heading(text, "rules that are not in effect:", &why.inactive, |text, rule: &&Inactive| {
        let Inactive { verdict, name, reason, .. } = rule;
        say(text, &format!("{}: {verdict} {}: {reason}", place(&rule.site), printable(name)));
    });
}

/// Where the reason for the verdict of a filter is, in few words.
pub(super) fn rule_of(filter: &FilterReason<'_>) -> String {
    let why = match &filter.reason {
        Reason::Instruction { index, .. } => return format!("instruction {index}"),
        Reason::Policy => return printable(filter.name).to_string(),
        Reason::Text(why) => why,
    };
    let place = |site: &Site| {
        let file = site.file.as_deref().unwrap_or(filter.name);
        format!("{}:{}:{}", printable(file), site.position.line, site.position.column)
    };
    match &why.cause {
        Cause::Rules(rules) => rules.first().map(|rule| place(&rule.site)).unwrap_or_default(),
        Cause::Builtin(_) => "added by what installs the filter".to_owned(),
        Cause::OtherArch => "not for this architecture".to_owned(),
        Cause::Default(Some(site)) => format!("{} (default)", place(site)),
        Cause::Default(None) => "default".to_owned(),
    }
}

/// Why it is dangerous to allow a syscall. If only some values of an argument are dangerous, the danger is shown only if one of them
/// is allowed.
pub(super) fn danger_of(allowed: &Allowed) -> Option<&'static Danger> {
    danger(&allowed.name).filter(|danger| {
        let may_have = |value: &DangerousValue| {
            allowed.may_have(danger.argument(value, allowed.arch), value.mask, value.bits)
        };
        danger.values.is_empty() || danger.values.iter().any(may_have)
    })
}

/// What it means that the syscall runs, if it is logged, or if the filters let every syscall run.
pub(super) fn executed(answer: &Answer<'_>, blocks_nothing: bool) -> String {
    let mut text = String::new();
    let is_logged = answer.verdict == Verdict::LOG;
    let message = match (is_logged, blocks_nothing) {
        (true, true) => {
            "this profile blocks nothing, it only records: the kernel runs the syscall and writes a record"
        }
        (true, false) => "logged, not blocked: the kernel runs the syscall and writes a record",
        (false, true) => "this profile blocks nothing",
        (false, false) => return text,
    };
    wrap(&mut text, message, 0, 2);
    text
}

/// What allows the syscall, with the patch or without it. `source` is what is asked about.
pub(super) fn advice(advice: &Advice, with_patch: bool, source: &str) -> String {
    let mut text = String::new();
    if let Some(why) = &advice.on_purpose {
        wrap(&mut text, why, 0, 2);
        match &advice.change {
            Ok(change) => {
                let patch = format!(
                    "for a program without a fallback, `callgate why {} {} --patch FILE` writes the change that allows it",
                    printable(source),
                    change.allowed.name
                );
                wrap(&mut text, &patch, 0, 2);
            }
            Err(by_hand) => {
                wrap(&mut text, &format!("for a program without a fallback: {by_hand}"), 0, 2)
            }
        }
        return text;
    }
    let allowed = advice.change.as_ref().ok().map(|change| &change.allowed);
    if let Some(danger) = allowed.and_then(danger_of) {
        wrap(&mut text, &format!("dangerous: {}", danger.reason), 0, 2);
    }
    let before = text.len();
    if advice.caps != CapSet::none() {
        wrap(&mut text, &format!("to allow it: {}", capabilities(advice.caps)), 0, 2);
    }
    let or = if text.len() == before { "to allow it" } else { "or without it" };
    match &advice.change {
        Ok(change) => {
            let what = if with_patch { "this change, which" } else { "a change that" };
            wrap(&mut text, &format!("{or}: {what} {}", scope(change)), 0, 2);
            if change.allowed.compares_flags() {
                let more = "  (calls with further flags remain denied: give all of them, A|B)";
                wrap(&mut text, more, 0, 2);
            }
            if let Some(unit) = change.new_drop_in() {
                let more = format!(
                    "  (a drop-in, because an update replaces the unit's file; after `patch -d / -p1`: systemctl daemon-reload && \
                     systemctl restart {})",
                    printable(&unit)
                );
                wrap(&mut text, &more, 0, 4);
            }
            if with_patch {
                patch_lines(&mut text, &change.patch);
            }
        }
        Err(by_hand) => wrap(&mut text, &format!("{or}: {}", printable(by_hand)), 0, 2),
    }
    text
}

/// How a container gets capabilities.
pub(super) fn capabilities(caps: CapSet) -> String {
    let names: Vec<&str> = caps.names().collect();
    format!("give the process {} ({})", names.join(" and "), cap_add(caps))
}

/// The options of container runtimes that add capabilities.
pub(super) fn cap_add(caps: CapSet) -> String {
    let option = |name: &str| format!("--cap-add {}", name.trim_start_matches("CAP_"));
    caps.names().map(option).collect::<Vec<String>>().join(" ")
}

/// What a change is proved to do.
fn scope(change: &Change) -> String {
    let name = &change.allowed.name;
    let mut scope = match change.allowed.condition() {
        Some(condition) => format!("is proved to allow {name} if {condition}, and nothing else"),
        None => format!("is proved to allow {name} with all arguments and nothing else"),
    };
    if let Some(SideEffect { data, .. }) = &change.verified.multiplexed {
        let arch = syscall::arch_of(data);
        let name = arch.and_then(|arch| arch.syscall_name(data.nr)).unwrap_or("its multiplexer");
        let arch = arch.map_or("another architecture", Arch::name);
        let _ = write!(scope, "; but on {arch} with all arguments, through {name}");
    }
    if let Some(SideEffect { data, before, after }) = &change.verified.side_effect {
        let call = call(data);
        let _ = write!(
            scope,
            "; other denied syscalls get another verdict, for example {call}: {after} instead of {before}"
        );
    }
    scope
}

/// Rules with one verdict at one place, if they are more than a few; other rules alone.
fn by_place<'s>(rules: &[&'s Statement]) -> Vec<Vec<&'s Statement>> {
    let mut places: Vec<Vec<&Statement>> = Vec::new();
    let mut known = HashMap::new();
    for rule in rules {
        let next = places.len();
        let place = *known.entry((&rule.site, rule.verdict)).or_insert(next);
        match places.get_mut(place) {
            Some(rules) => rules.push(rule),
            None => places.push(vec![rule]),
        }
    }
    let is_few = |rules: &[&Statement]| rules.len() <= MAX_CONDITIONS;
    let parts = places.into_iter().flat_map(|rules| match is_few(&rules) {
        true => rules.into_iter().map(|rule| vec![rule]).collect(),
        false => vec![rules],
    });
    parts.collect()
}

/// The syscall of a rule as the text names it.
fn name(rule: &Statement) -> String {
    printable(&rule.name).to_string()
}

fn describe(rule: &Statement, answer: &Answer<'_>) -> Option<String> {
    let name = rule.arch.syscall_name(rule.nr);
    condition(rule, answer.arch.unwrap_or(rule.arch), name)
}

/// A heading and a list, unless it is empty.
fn heading<T>(text: &mut String, heading: &str, items: &[T], line: impl FnMut(&mut String, &T)) {
    if !items.is_empty() {
        let _ = writeln!(text, "{heading}");
        list(text, items, line);
    }
}

fn list<T>(text: &mut String, items: &[T], mut line: impl FnMut(&mut String, &T)) {
    items.iter().take(MAX_RULES).for_each(|item| line(text, item));
    if let Some(more) = items.len().checked_sub(MAX_RULES).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … and {more} more; --format json lists all");
    }
}

/// A line of a list.
fn say(text: &mut String, line: &str) {
    text.push_str("  ");
    wrap(text, line, 2, 4);
}
