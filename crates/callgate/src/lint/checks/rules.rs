//! Rules of the text without effect, rules that depend on another capability than the kernel requires, and the warnings of
//! readers.

use std::collections::BTreeMap;

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Topic;
use callgate_bpf::syscalls::known_name;
use callgate_codegen::query;
use callgate_core::Arch;
use callgate_core::diagram::Pred;
use callgate_formats::statements::{Inactivity, Site, Statement, Statements};
use rustc_hash::FxHashSet as HashSet;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Example, Finding, Findings, listed};
use crate::lint::view::View;

pub(in crate::lint) fn rules(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        without_effect(view, findings, filter, text)?;
        equals_default(findings, filter, text);
    }
    Ok(())
}

/// The most pairs of rules that are compared to name the rule that covers another one; then it is not named.
const MAX_PAIRS: usize = 20_000;

/// What one rule of the text, which may be for several syscalls and architectures, has been found to do.
#[derive(Default)]
struct Tally<'s> {
    rules: usize,
    never: usize,
    overruled: usize,
    covered: usize,
    first: Option<&'s Statement>,
    /// Another rule that takes precedence, or applies as well.
    other: Option<&'s Statement>,
    example: Option<Example>,
    /// Whether it has conditions that another rule makes pointless.
    is_conditional: bool,
}

/// Reports a place of the text only if all of its rules are without effect: a group of syscalls may repeat some.
fn without_effect<'a>(
    view: &mut View<'a>,
    findings: &mut Findings,
    filter: usize,
    text: &'a Statements,
) -> Result<()> {
    let mut calls: BTreeMap<(Arch, u32), Vec<&Statement>> = BTreeMap::new();
    for rule in &text.rules {
        calls.entry((rule.arch, rule.nr)).or_default().push(rule);
    }
    let mut tallies: BTreeMap<(Option<&str>, u32, u32), Tally<'_>> = BTreeMap::new();
    let mut pairs = MAX_PAIRS;
    let key = |site: &'a Site| (site.file.as_deref(), site.position.line, site.position.column);
    for ((arch, nr), rules) in calls {
        for rule in &rules {
            let tally = tallies.entry(key(&rule.site)).or_default();
            tally.rules += 1;
            let is_first =
                tally.first.is_none_or(|first| (rule.arch, rule.nr) < (first.arch, first.nr));
            tally.first = if is_first { Some(rule) } else { tally.first };
        }
        if let [only] = rules.as_slice() {
            if only.when.is_always() {
                continue;
            }
        }
        let mut conditions = Vec::new();
        for rule in &rules {
            conditions.push(view.store.condition(&rule.when)?);
        }
        let own = view.own.get(filter).copied().unwrap_or(view.whole);
        let func = view.call_in(own, arch, nr);
        let covered = covered(view, &rules, &conditions)?;
        for (index, (rule, condition)) in
            rules.iter().copied().zip(conditions.iter().copied()).enumerate()
        {
            let tally = tallies.entry(key(&rule.site)).or_default();
            if condition == Pred::NEVER {
                tally.never += 1;
                continue;
            }
            let decided = query::has_verdict(&mut view.store, func, rule.verdict)?;
            if view.store.and(condition, decided)? == Pred::NEVER {
                tally.overruled += 1;
                let example = view.example(arch, nr, condition)?;
                // The rule that decides about the example.
                let decides = |other: &&&Statement| match &example {
                    Some(found) => {
                        other.applies_to(&found.data)
                            && view.store.evaluate(own, &found.data) == Ok(other.verdict)
                    }
                    None => false,
                };
                if tally.example.is_none() {
                    tally.other = rules.iter().find(decides).copied();
                    tally.example = example;
                }
            } else if covered.get(index) == Some(&true) {
                tally.covered += 1;
                let others = rules.iter().zip(&conditions).enumerate();
                let cover = others.take(pairs).find(|(other, (by, when))| {
                    *other != index
                        && by.verdict == rule.verdict
                        && view.store.and(condition, **when).is_ok_and(|both| both == condition)
                });
                pairs -= cover.map_or(rules.len(), |(other, _)| other).min(pairs);
                let example = view.example(arch, nr, condition)?;
                // A rule behind a multiplexer has the number of its operation as a condition, which the text does not state.
                let is_stated = rule.arch.multiplexed(&rule.name).is_none();
                tally.is_conditional |= is_stated
                    && condition != Pred::ALWAYS
                    && cover.is_some_and(|(_, (_, when))| *when != condition);
                if tally.example.is_none() {
                    tally.other = cover.map(|(_, (by, _))| *by);
                    tally.example = example;
                }
            }
        }
    }
    for tally in tallies.into_values() {
        report(findings, filter, &tally);
    }
    Ok(())
}

/// Which of the rules for a syscall have the verdict of others wherever they apply. Of rules that cover each other, the first
/// one counts.
fn covered(view: &mut View<'_>, rules: &[&Statement], conditions: &[Pred]) -> Result<Vec<bool>> {
    let mut covered = vec![false; rules.len()];
    let mut verdicts: Vec<_> = rules.iter().map(|rule| rule.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    for verdict in verdicts {
        let own: Vec<(usize, Pred)> = (0..)
            .zip(rules.iter().zip(conditions))
            .filter(|(_, (rule, _))| rule.verdict == verdict)
            .map(|(index, (_, condition))| (index, *condition))
            .collect();
        // The conditions of the rules before each one.
        let mut before = vec![Pred::NEVER];
        for (_, condition) in &own {
            let all = before.last().copied().unwrap_or(Pred::NEVER);
            before.push(view.store.or(all, *condition)?);
        }
        let mut kept_after = Pred::NEVER;
        for ((index, condition), before) in own.iter().zip(&before).rev() {
            let others = view.store.or(*before, kept_after)?;
            if view.store.and(*condition, others)? == *condition {
                if let Some(slot) = covered.get_mut(*index) {
                    *slot = true;
                }
            } else {
                kept_after = view.store.or(kept_after, *condition)?;
            }
        }
    }
    Ok(covered)
}

fn report(findings: &mut Findings, filter: usize, tally: &Tally<'_>) {
    let Some(rule) = tally.first else { return };
    let at = (filter, Some(rule.site.clone()));
    let name = &rule.name;
    let other = tally.other.map(|other| {
        let position = other.site.position;
        let file = other.site.file.as_ref().filter(|_| other.site.file != rule.site.file);
        let file = file.map(|file| format!("{file}:")).unwrap_or_default();
        format!("the rule at {file}{}:{}", position.line, position.column)
    });
    let other = other.unwrap_or_else(|| "another rule".to_owned());
    let finding = if tally.never == tally.rules {
        let message = format!("no arguments meet the conditions of this rule for `{name}`");
        Finding::new(Check::NeverMatches, message)
            .help("correct the conditions, or remove the rule")
    } else if tally.never + tally.overruled == tally.rules {
        let wins = tally.other.map(|other| format!(", with {}", other.verdict)).unwrap_or_default();
        let message =
            format!("{} for `{name}` has no effect: {other} takes precedence{wins}", rule.verdict);
        Finding::new(Check::Overruled, message).help("remove one of the two rules")
    } else if tally.never + tally.overruled + tally.covered == tally.rules {
        if tally.is_conditional {
            let message = format!(
                "the condition of this rule for `{name}` has no effect: {other} has the same verdict, \
                 {}, for more arguments",
                rule.verdict
            );
            Finding::new(Check::ConditionWithoutEffect, message)
                .help("remove the rule with fewer conditions if the condition matters")
        } else {
            let message = format!("this rule for `{name}` repeats {other}");
            Finding::new(Check::Duplicate, message).help("remove it")
        }
    } else {
        return;
    };
    findings.add(finding.at(at).about(known_name(name)).examples([tally.example]));
}

/// Rules with the default action: runc drops them, so they make no exception to other rules.
fn equals_default(findings: &mut Findings, filter: usize, text: &Statements) {
    let active: HashSet<&str> = text.rules.iter().map(|rule| rule.name.as_str()).collect();
    let inactive = text.inactive.iter().filter(|rule| rule.reason == Inactivity::DefaultAction);
    let mut lines: BTreeMap<(Option<&str>, u32), Vec<_>> = BTreeMap::new();
    for rule in inactive {
        let line = (rule.site.file.as_deref(), rule.site.position.line);
        lines.entry(line).or_default().push(rule);
    }
    for rules in lines.into_values() {
        let Some(first) = rules.first() else { continue };
        let names: Vec<&'static str> =
            rules.iter().filter_map(|rule| known_name(&rule.name)).collect();
        let has_other = |name: &&str| active.contains(name);
        let excepted: Vec<&str> = names.iter().copied().filter(has_other).collect();
        let (rule, is, them) =
            if rules.len() == 1 { ("rule", "is", "it") } else { ("rules", "are", "them") };
        let help = match excepted.as_slice() {
            [] => format!("remove {them}, or keep {them} as documentation"),
            _ => "write the exceptions as conditions of the other rules".to_owned(),
        };
        let message = match excepted.as_slice() {
            [] => format!(
                "the {rule} for {} {is} ignored: {} is the default action",
                listed(&names),
                first.verdict
            ),
            some => format!(
                "the {rule} for {} {is} ignored, because {} is the default action, so no exceptions are \
                 made from other rules",
                listed(some),
                first.verdict
            ),
        };
        let finding = Finding::new(Check::EqualsDefault, message);
        let finding = finding.help(help);
        findings.add(finding.at((filter, Some(first.site.clone()))).about(names));
    }
}

/// Syscalls that always fail without one of these capabilities (capabilities(7)).
const REQUIRED: &[(&[&str], &[&str])] = &[
    (
        &[
            "mount",
            "umount",
            "umount2",
            "pivot_root",
            "move_mount",
            "fsopen",
            "fsmount",
            "fspick",
            "mount_setattr",
            "sethostname",
            "setdomainname",
            "swapon",
            "swapoff",
            "lookup_dcookie",
        ],
        &["CAP_SYS_ADMIN"],
    ),
    (&["chroot"], &["CAP_SYS_CHROOT"]),
    (&["reboot", "kexec_load", "kexec_file_load"], &["CAP_SYS_BOOT"]),
    (&["init_module", "finit_module", "delete_module"], &["CAP_SYS_MODULE"]),
    (&["settimeofday", "stime"], &["CAP_SYS_TIME"]),
    (&["acct"], &["CAP_SYS_PACCT"]),
    (&["vhangup"], &["CAP_SYS_TTY_CONFIG"]),
];

pub(in crate::lint) fn capabilities(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        for gate in text.gated.iter().filter(|gate| gate.verdict.permits()) {
            let Some(name) = known_name(&gate.name) else { continue };
            let required = REQUIRED.iter().find(|(names, _)| names.contains(&name));
            let Some((_, required)) = required else { continue };
            if required.iter().any(|wanted| gate.capabilities.contains(wanted)) {
                continue;
            }
            let given: Vec<&str> = gate.capabilities.names().collect();
            let message = format!(
                "`{name}` is allowed with {}, but the kernel requires {}",
                given.join(" and "),
                required.join(" or ")
            );
            let help = format!("write `{}` instead", required.first().copied().unwrap_or_default());
            let finding = Finding::new(Check::Capability, message).help(help).about([name]);
            findings.add(finding.at((filter, Some(gate.site.clone()))));
        }
    }
    Ok(())
}

pub(in crate::lint) fn reader(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, subject) in view.subjects.iter().enumerate() {
        let of_files = subject.warnings_of_files.iter();
        let of_files = of_files.map(|(file, warning)| (Some(file), warning));
        for (file, warning) in subject.warnings.iter().map(|one| (None, one)).chain(of_files) {
            let check = match warning.topic {
                Some(Topic::OrConditions) => Check::OrConditions,
                // The checks of rules, multiplexers and ABIs find these as well, with examples.
                Some(Topic::Overruled | Topic::Multiplexer) if subject.statements.is_some() => {
                    continue;
                }
                Some(Topic::X32) => continue,
                Some(Topic::Overruled) => Check::Overruled,
                Some(Topic::Multiplexer) => Check::Multiplexer,
                Some(Topic::NeverMatches) => Check::NeverMatches,
                Some(Topic::TooLarge) | None => Check::Profile,
            };
            let site = warning.position.map(|position| Site { file: file.cloned(), position });
            let names = warning.syscalls.iter().filter_map(|name| known_name(name));
            let finding = Finding::new(check, warning.message.clone()).help(warning).about(names);
            findings.add(finding.at((filter, site)));
        }
    }
    Ok(())
}
