//! Rules for named syscalls with comparisons, as libseccomp combines them: container profiles, and profiles of LXC and of
//! snaps. A rule is for all architectures of a policy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::comparisons::{self, Rules};
use super::multiplexers::{MULTIPLEXED, behind, is_multiplexer, multiplexer};
use super::numbering::Numbering;
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::strictness::strictest;
use callgate_bpf::data::Word;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_formats::oci::BAD_ARCH;
use callgate_formats::ruleset::{Comparison, Conflict, LibseccompVersion, RuleSet, sections};
use callgate_proof::diagram::Func;
use callgate_proof::policy::Policy;

/// What a language can say about syscalls by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedLanguage {
    /// Whether the policy is refused if libseccomp rejects a rule.
    pub(super) refuses_conflicts: bool,
    /// Whether rules for a syscall are also added for `socketcall` and `ipc`; otherwise there are none for syscalls that
    /// these also reach.
    pub(super) reaches_multiplexed: bool,
    /// Whether the language determines the architectures, not the policy.
    pub(super) has_fixed_arches: bool,
    /// Why a comparison of a syscall cannot be written; `None` if it can.
    pub(super) unsayable: fn(&'static str, &Comparison) -> Option<&'static str>,
}

/// What rules mean on an architecture; many syscalls have the same rules.
#[derive(Default)]
struct Meanings {
    /// For syscalls of the architecture: the meaning, or why the rules are rejected.
    of_syscalls: BTreeMap<(Arch, Rules), Result<Func, &'static str>>,
    /// For syscalls that the architecture does not have: whether the rules are rejected.
    without_number: BTreeMap<(Arch, Rules), bool>,
}

impl Meanings {
    /// Whether libseccomp rejects the rules of a name on an architecture that does not have the syscall. It keeps them there, too,
    /// and on a 32-bit ABI compares low halves only, so that different conditions may become the same.
    fn is_refused_without_number(
        &mut self,
        arch: Arch,
        name: &str,
        rules: &Rules,
        numbering: &Numbering,
    ) -> bool {
        if arch.has_multiplexers() && arch.multiplexed(name).is_none() {
            // There, libseccomp drops them.
            return false;
        }
        *self.without_number.entry((arch, rules.clone())).or_insert_with(|| {
            let own = rules.iter().filter(|(verdict, _)| *verdict != numbering.default);
            let mut set = RuleSet::new(arch);
            for (verdict, all) in own {
                set.add_syscall_if_known(name, all, *verdict, ());
            }
            is_refused(&set, |conflict| conflict.nr.is_none())
        })
    }
}

/// The maximum number of comparisons of nodes to find out whether libseccomp rejects the rules of a syscall.
const MAX_STEPS: u64 = 2_000_000;

/// Why libseccomp rejects rules of one syscall.
const CONFLICTING: &str = "libseccomp rejects these conditions with several actions";

/// The rules of all names that need some.
pub(super) fn named_rules(
    fit: &mut Fit<'_>,
    numbering: &Numbering,
    language: NamedLanguage,
) -> Result<BTreeMap<&'static str, Rules>, ConvertError> {
    numbering.fit_unnamed(fit)?;
    let names: BTreeSet<&'static str> =
        fit.arches.iter().flat_map(|arch| arch.syscalls().map(|(_, name)| name)).collect();
    let (mut rules, mut meanings) = (BTreeMap::new(), Meanings::default());
    // Rules for the syscalls behind a multiplexer are compared with its own, which must be known.
    let (first, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| is_multiplexer(name));
    for name in first.into_iter().chain(others) {
        let own = of_name(fit, name, numbering, language, &mut meanings)?;
        if !own.is_empty() {
            rules.insert(name, own);
        }
    }
    Ok(rules)
}

/// The rules of a name, which are the same on all architectures; none for the default action.
fn of_name(
    fit: &mut Fit<'_>,
    name: &'static str,
    numbering: &Numbering,
    language: NamedLanguage,
    meanings: &mut Meanings,
) -> Result<Rules, ConvertError> {
    let mut numbers: Vec<(Arch, u32)> =
        fit.arches.iter().filter_map(|arch| Some((*arch, arch.number(name)?))).collect();
    if !language.reaches_multiplexed {
        let is_reached = |(arch, _): &(Arch, u32)| arch.multiplexed(name).is_some();
        for (arch, nr) in numbers.iter().copied().filter(is_reached) {
            let why = "no rules can be added for syscalls that socketcall or ipc also reach";
            let verdict = numbering.expected_at(arch.token(), nr);
            fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
        }
        numbers.retain(|number| !is_reached(number));
    }
    let Some((first, nr)) = numbers.first().copied() else { return Ok(Rules::new()) };
    let func = fit.syscall(first.token(), nr);
    let why = match of_func(fit, func, first, name, numbering)? {
        Ok(rules) => {
            let comparisons = || rules.iter().flat_map(|(_, all)| all);
            let mut differs = comparisons().find_map(|one| (language.unsayable)(name, one));
            for arch in fit.arches.clone() {
                let has_number = numbers.iter().any(|(own, _)| *own == arch);
                // Other languages name their architectures, and can do without this one.
                if language.has_fixed_arches
                    && language.reaches_multiplexed
                    && !has_number
                    && !multiplexed_alike(fit, arch, name, &rules, numbering)?
                {
                    differs = Some(MULTIPLEXED);
                }
                if language.refuses_conflicts
                    && !has_number
                    && meanings.is_refused_without_number(arch, name, &rules, numbering)
                {
                    differs = Some(CONFLICTING);
                }
            }
            for (arch, nr) in &numbers {
                let wanted = fit.syscall(arch.token(), *nr);
                let key = (*arch, rules.clone());
                // The default action depends on the number.
                let has_rules = rules.iter().any(|(verdict, _)| *verdict != numbering.default);
                let known = meanings.of_syscalls.get(&key).copied().filter(|_| has_rules);
                let own = match known {
                    Some(own) => own,
                    None => meaning(fit, *arch, *nr, &rules, numbering, language)?,
                };
                meanings.of_syscalls.insert(key, own);
                match own {
                    Ok(own) if own == wanted => {
                        if language.reaches_multiplexed
                            && !multiplexed_alike(fit, *arch, name, &rules, numbering)?
                        {
                            differs = Some(MULTIPLEXED);
                        }
                    }
                    Ok(_) if language.has_fixed_arches => {
                        differs = Some("a rule is for all architectures of the host");
                    }
                    Ok(_) => differs = Some("an entry is for all architectures of the profile"),
                    Err(why) => differs = Some(why),
                }
            }
            match differs {
                None => return Ok(rules),
                Some(why) => why,
            }
        }
        Err(unsayable) => unsayable.why(),
    };
    let mut all: Vec<Func> =
        numbers.iter().map(|(arch, nr)| fit.syscall(arch.token(), *nr)).collect();
    let multiplexers = match language.has_fixed_arches && language.reaches_multiplexed {
        true => {
            fit.arches.iter().filter_map(|arch| Some((*arch, multiplexer(*arch, name)?))).collect()
        }
        false => Vec::new(),
    };
    all.extend(multiplexers.iter().map(|(arch, nr)| fit.syscall(arch.token(), *nr)));
    let verdict = strictest(all.iter().map(|func| fit.strictest(*func)));
    let rules = match verdict == numbering.default {
        true => Rules::new(),
        false => vec![(verdict, Vec::new())],
    };
    for (arch, nr) in numbers {
        let written = match rules.is_empty() {
            true => numbering.expected_at(arch.token(), nr),
            false => verdict,
        };
        fit.replace_numbers(arch.token(), (nr, nr), written, why)?;
    }
    // A denial also applies to the multiplexers; what they deny is denied here, too.
    let denies = !rules.is_empty() && numbering.default == Verdict::ALLOW;
    for (arch, nr) in multiplexers.into_iter().filter(|_| denies) {
        let added = behind(fit, (arch, nr), [(name, &rules)], numbering.default)?;
        let own = fit.syscall(arch.token(), nr);
        // A rule without conditions for the multiplexer itself decides.
        if fit.store.as_verdict(own).is_none_or(|verdict| verdict == numbering.default) {
            let both = fit.store.highest_precedence(own, added)?;
            fit.replace_syscall((arch, nr), both, why)?;
        }
    }
    Ok(rules)
}

/// The rules for a function of the arguments.
fn of_func(
    fit: &mut Fit<'_>,
    func: Func,
    arch: Arch,
    name: &str,
    numbering: &Numbering,
) -> Result<Result<Rules, comparisons::Unsayable>, ConvertError> {
    if let Some(verdict) = fit.store.as_verdict(func) {
        let nr = arch.number(name).unwrap_or(0);
        let is_default = numbering.expected_at(arch.token(), nr) == verdict;
        return Ok(Ok(if is_default { Rules::new() } else { vec![(verdict, Vec::new())] }));
    }
    let stopped = |stop| ConvertError::of_syscall(stop, || format!("{name} ({arch})"));
    let mut rules = Rules::new();
    let mut verdicts = fit.store.verdicts(func);
    // The order of the entries: on a 32-bit ABI, which compares low halves only, conditions may overlap.
    verdicts.sort_by_key(|verdict| Reverse(*verdict));
    for verdict in verdicts.into_iter().filter(|verdict| *verdict != numbering.default) {
        let all = fit.alternatives(func, verdict).map_err(stopped)?;
        match comparisons::rules(&all, arch).map_err(stopped)? {
            Ok(own) => rules.extend(own.into_iter().map(|rule| (verdict, rule))),
            Err(unsayable) => return Ok(Err(unsayable)),
        }
    }
    Ok(Ok(rules))
}

/// What the rules mean on an architecture, or why the runtimes reject them.
fn meaning(
    fit: &mut Fit<'_>,
    arch: Arch,
    nr: u32,
    rules: &Rules,
    numbering: &Numbering,
    language: NamedLanguage,
) -> Result<Result<Func, &'static str>, ConvertError> {
    let own = rules.iter().filter(|(verdict, _)| *verdict != numbering.default);
    let mut set = RuleSet::new(arch);
    own.for_each(|(verdict, all)| set.add(nr, all, *verdict, ()));
    if set.is_empty() {
        let expected = numbering.expected_at(arch.token(), nr);
        return Ok(Ok(fit.store.verdict(expected)?));
    }
    if !set.contradictions().is_empty() || language.refuses_conflicts && is_refused(&set, |_| true)
    {
        return Ok(Err(CONFLICTING));
    }
    let policy = Policy::new(sections([&set], numbering.default, BAD_ARCH), BAD_ARCH);
    let policy = policy.map_err(|error| ConvertError::defect(error.to_string()))?;
    let all = fit.store.policy(&policy)?;
    let numbers = fit.store.follow(all, Word::ARCH, arch.token());
    Ok(Ok(fit.store.follow(numbers, Word::NR, nr)))
}

/// Whether any version of libseccomp rejects one of the rules, with such a conflict or because there are too many to know.
fn is_refused(set: &RuleSet<()>, is_such: fn(&Conflict<()>) -> bool) -> bool {
    let versions = [LibseccompVersion::Before2_6_1, LibseccompVersion::From2_6_1];
    versions.into_iter().any(|version| {
        let found = set.refused(version, &mut MAX_STEPS.clone());
        found.conflicts.iter().any(is_such) || !found.unknown.is_empty()
    })
}

/// Whether a multiplexer of the architecture already has the verdicts that libseccomp gives it for the rules of a name.
fn multiplexed_alike(
    fit: &mut Fit<'_>,
    arch: Arch,
    name: &str,
    rules: &Rules,
    numbering: &Numbering,
) -> Result<bool, ConvertError> {
    let Some(nr) = multiplexer(arch, name) else { return Ok(true) };
    let own = fit.syscall(arch.token(), nr);
    // A rule without conditions for the multiplexer itself decides.
    if fit.store.as_verdict(own).is_some_and(|verdict| verdict != numbering.default) {
        return Ok(true);
    }
    let behind = behind(fit, (arch, nr), [(name, rules)], numbering.default)?;
    let combinations = fit.store.verdict_combinations([behind, own])?;
    let is_alike =
        |([added, own], _): &([Verdict; 2], _)| *added == numbering.default || added == own;
    Ok(combinations.iter().all(is_alike))
}
