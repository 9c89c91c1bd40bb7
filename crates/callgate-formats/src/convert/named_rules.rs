//! Rules for named syscalls with comparisons, as libseccomp combines them: container profiles, and profiles of LXC and of
//! snaps. A rule is for all architectures of a policy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::comparisons::{self, Rules, Said, Saying};
use super::error::{A_RULE_IS_FOR_ALL, AN_ENTRY_IS_FOR_ALL, ConvertError, MULTIPLEXED, Result};
use super::fit::{Fit, is_as_strict, laxer, strictest};
use super::numbering::Numbering;
use crate::oci::BAD_ARCH;
use crate::ruleset::{Comparison, Conflict, LibseccompVersion, RuleSet, sections};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::Func;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Verdict, Word};

/// What a language can say about syscalls by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedLanguage {
    /// Whether the policy is refused if libseccomp rejects a rule.
    pub(crate) refuses_conflicts: bool,
    /// Whether rules for a syscall are also added for `socketcall` and `ipc`; otherwise there are none for syscalls that
    /// these also reach.
    pub(crate) reaches_multiplexed: bool,
    /// Whether the language determines the architectures, not the policy.
    pub(crate) has_fixed_arches: bool,
    /// The largest number that all programs which read the language keep.
    pub(crate) max_number: u64,
    /// Why a comparison of a syscall cannot be written; `None` if it can.
    pub(crate) unsayable: fn(&'static str, &Comparison) -> Option<&'static str>,
}

/// What rules mean on an architecture; many syscalls have the same rules.
#[derive(Default)]
struct Meanings {
    /// For syscalls of the architecture: the meaning, or why the rules are rejected.
    of_syscalls: BTreeMap<(Arch, Rules), Result<Func, &'static str>>,
    /// For syscalls that the architecture does not have: whether the rules are rejected.
    without_number: BTreeMap<(Arch, Rules), bool>,
}

/// Finds the rules of names.
struct Search<'f, 's> {
    fit: &'f mut Fit<'s>,
    numbering: &'f Numbering,
    language: NamedLanguage,
    meanings: Meanings,
}

impl Search<'_, '_> {
    /// Whether libseccomp rejects the rules of a name on an architecture that does not have the syscall. It keeps them there, too,
    /// and on a 32-bit ABI compares low halves only, so that different conditions may become the same.
    fn is_refused_without_number(&mut self, arch: Arch, name: &str, rules: &Rules) -> bool {
        if arch.has_multiplexers() && arch.multiplexed(name).is_none() {
            // There, libseccomp drops them.
            return false;
        }
        *self.meanings.without_number.entry((arch, rules.clone())).or_insert_with(|| {
            let own = rules.iter().filter(|(verdict, _)| *verdict != self.numbering.default);
            let mut set = RuleSet::new(arch);
            for (verdict, all) in own {
                set.add_syscall_if_known(name, all, *verdict, ());
            }
            is_refused(&set, |conflict| conflict.nr.is_none())
        })
    }

    /// The rules of a name, which are the same on all architectures; none for the default action.
    fn of_name(&mut self, name: &'static str) -> Result<Rules> {
        let mut numbers = self.fit.numbers_of(name);
        if !self.language.reaches_multiplexed {
            let is_reached = |(arch, _): &(Arch, u32)| arch.multiplexed(name).is_some();
            for (arch, nr) in numbers.iter().copied().filter(is_reached) {
                let why = "no rules can be added for syscalls that socketcall or ipc also reach";
                let verdict = self.numbering.expected_at(arch.token(), nr);
                self.fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
            }
            numbers.retain(|number| !is_reached(number));
        }
        let Some((first, nr)) = numbers.first().copied() else { return Ok(Rules::new()) };
        let func = self.fit.syscall(first.token(), nr);
        let Said { rules, why } = self.of_func(func, first, name)?;
        let why = match why {
            Some(why) => why,
            None => match self.difference(name, &numbers, &rules)? {
                Some(why) => why,
                None => return Ok(rules),
            },
        };
        // The rules of the main architecture, if they are strict enough for the others; or those for what all permit.
        let mut permitted = func;
        for (arch, nr) in &numbers {
            let own = self.fit.syscall(arch.token(), *nr);
            permitted = self.fit.store.highest_precedence(permitted, own)?;
        }
        let combined =
            (permitted != func).then(|| self.of_func(permitted, first, name)).transpose()?;
        for rules in std::iter::once(rules).chain(combined.map(|said| said.rules)) {
            if let Some(nearest) = self.nearest(name, &numbers, &rules)? {
                for (arch, nr, meaning) in nearest {
                    self.fit.replace_syscall((arch, nr), meaning, why)?;
                }
                return Ok(rules);
            }
        }
        let mut all: Vec<Func> =
            numbers.iter().map(|(arch, nr)| self.fit.syscall(arch.token(), *nr)).collect();
        let multiplexers = match self.language.has_fixed_arches && self.language.reaches_multiplexed
        {
            true => self
                .fit
                .arches
                .iter()
                .filter_map(|arch| Some((*arch, multiplexer(*arch, name)?)))
                .collect(),
            false => Vec::new(),
        };
        all.extend(multiplexers.iter().map(|(arch, nr)| self.fit.syscall(arch.token(), *nr)));
        let verdict = strictest(all.iter().map(|func| self.fit.strictest(*func)));
        let rules = match verdict == self.numbering.default {
            true => Rules::new(),
            false => vec![(verdict, Vec::new())],
        };
        for (arch, nr) in numbers {
            let written = match rules.is_empty() {
                true => self.numbering.expected_at(arch.token(), nr),
                false => verdict,
            };
            self.fit.replace_numbers(arch.token(), (nr, nr), written, why)?;
        }
        // A denial also applies to the multiplexers; what they deny is denied here, too.
        let denies = !rules.is_empty() && self.numbering.default == Verdict::ALLOW;
        for (arch, nr) in multiplexers.into_iter().filter(|_| denies) {
            let added = behind(self.fit, (arch, nr), [(name, &rules)], self.numbering.default)?;
            let own = self.fit.syscall(arch.token(), nr);
            // A rule without conditions for the multiplexer itself decides.
            if self
                .fit
                .store
                .as_verdict(own)
                .is_none_or(|verdict| verdict == self.numbering.default)
            {
                let both = self.fit.store.highest_precedence(own, added)?;
                self.fit.replace_syscall((arch, nr), both, why)?;
            }
        }
        Ok(rules)
    }

    /// Why the rules of a name do not mean what the filter does, on some architecture; `None` if they do on all.
    fn difference(
        &mut self,
        name: &'static str,
        numbers: &[(Arch, u32)],
        rules: &Rules,
    ) -> Result<Option<&'static str>> {
        let mut differs = None;
        for arch in self.fit.arches.clone() {
            let has_number = numbers.iter().any(|(own, _)| *own == arch);
            // Other languages name their architectures, and can do without this one.
            if self.language.has_fixed_arches
                && self.language.reaches_multiplexed
                && !has_number
                && !self.multiplexed_alike(arch, name, rules)?
            {
                differs = Some(MULTIPLEXED);
            }
            if self.language.refuses_conflicts
                && !has_number
                && self.is_refused_without_number(arch, name, rules)
            {
                differs = Some(CONFLICTING);
            }
        }
        for (arch, nr) in numbers {
            let wanted = self.fit.syscall(arch.token(), *nr);
            match self.meaning((*arch, *nr), rules)? {
                Ok(own) if own == wanted => {
                    if self.language.reaches_multiplexed
                        && !self.multiplexed_alike(*arch, name, rules)?
                    {
                        differs = Some(MULTIPLEXED);
                    }
                }
                Ok(_) if self.language.has_fixed_arches => {
                    differs = Some(A_RULE_IS_FOR_ALL);
                }
                Ok(_) => differs = Some(AN_ENTRY_IS_FOR_ALL),
                Err(why) => differs = Some(why),
            }
        }
        Ok(differs)
    }

    /// What rules of a name mean for its number on each architecture, and for the multiplexers; `None` if they permit more than the
    /// filter somewhere, or libseccomp rejects them.
    fn nearest(
        &mut self,
        name: &'static str,
        numbers: &[(Arch, u32)],
        rules: &Rules,
    ) -> Result<Option<Changes>> {
        let mut found = Vec::new();
        for (arch, nr) in numbers.iter().copied() {
            let wanted = self.fit.syscall(arch.token(), nr);
            match self.meaning((arch, nr), rules)? {
                Ok(own) if own == wanted => {}
                Ok(own) if laxer(self.fit.store, wanted, own)?.is_none() => {
                    found.push((arch, nr, own))
                }
                _ => return Ok(None),
            }
        }
        for arch in self.fit.arches.clone() {
            let has_number = numbers.iter().any(|(own, _)| *own == arch);
            if self.language.refuses_conflicts
                && !has_number
                && self.is_refused_without_number(arch, name, rules)
            {
                return Ok(None);
            }
            let Some(nr) = multiplexer(arch, name).filter(|_| self.language.reaches_multiplexed)
            else {
                continue;
            };
            if self.multiplexed_alike(arch, name, rules)? {
                continue;
            }
            // Rules must not permit more than the filter; denials also apply to the multiplexer.
            if self.numbering.default != Verdict::ALLOW {
                return Ok(None);
            }
            let added = behind(self.fit, (arch, nr), [(name, rules)], self.numbering.default)?;
            let own = self.fit.syscall(arch.token(), nr);
            found.push((arch, nr, self.fit.store.highest_precedence(own, added)?));
        }
        Ok(Some(found))
    }

    /// The rules for a function of the arguments, or for as much of it as can be written without permitting more.
    fn of_func(&mut self, func: Func, arch: Arch, name: &'static str) -> Result<Said<Rules>> {
        if let Some(verdict) = self.fit.store.as_verdict(func) {
            let nr = arch.number(name).unwrap_or(0);
            let is_default = self.numbering.expected_at(arch.token(), nr) == verdict
                && !self.numbering.depends_on_runtime(arch, verdict);
            let rules = if is_default { Rules::new() } else { vec![(verdict, Vec::new())] };
            return Ok(Said { rules, why: None });
        }
        let stopped = |stop| ConvertError::of_syscall(stop, || format!("{name} ({arch})"));
        let mut said = Said { rules: Rules::new(), why: None };
        let mut verdicts = self.fit.store.verdicts(func);
        // The order of the entries: on a 32-bit ABI, which compares low halves only, conditions may overlap.
        verdicts.sort_by_key(|verdict| Reverse(*verdict));
        for verdict in verdicts.into_iter().filter(|verdict| *verdict != self.numbering.default) {
            let all = self.fit.alternatives(func, verdict).map_err(stopped)?;
            let saying = Saying {
                arch,
                max_number: self.language.max_number,
                unsayable: &|comparison| (self.language.unsayable)(name, comparison),
                widens: !is_as_strict(self.numbering.default, verdict),
            };
            let own = comparisons::rules(&all, &saying).map_err(stopped)?;
            said.rules.extend(own.rules.into_iter().map(|rule| (verdict, rule)));
            said.why = said.why.or(own.why);
        }
        Ok(said)
    }

    /// What the rules mean on an architecture, or why the runtimes reject them.
    fn meaning(
        &mut self,
        (arch, nr): (Arch, u32),
        rules: &Rules,
    ) -> Result<Result<Func, &'static str>> {
        // The default action depends on the number.
        if rules.iter().all(|(verdict, _)| *verdict == self.numbering.default) {
            return self.new_meaning(arch, nr, rules);
        }
        let key = (arch, rules.clone());
        if let Some(known) = self.meanings.of_syscalls.get(&key) {
            return Ok(*known);
        }
        let found = self.new_meaning(arch, nr, rules)?;
        self.meanings.of_syscalls.insert(key, found);
        Ok(found)
    }

    fn new_meaning(
        &mut self,
        arch: Arch,
        nr: u32,
        rules: &Rules,
    ) -> Result<Result<Func, &'static str>> {
        let own = rules.iter().filter(|(verdict, _)| *verdict != self.numbering.default);
        let mut set = RuleSet::new(arch);
        own.for_each(|(verdict, all)| set.add(nr, all, *verdict, ()));
        if set.is_empty() {
            let expected = self.numbering.expected_at(arch.token(), nr);
            return Ok(Ok(self.fit.store.verdict(expected)?));
        }
        if !set.contradictions().is_empty()
            || self.language.refuses_conflicts && is_refused(&set, |_| true)
        {
            return Ok(Err(CONFLICTING));
        }
        meaning_of(self.fit, &set, nr, self.numbering.default).map(Ok)
    }

    /// Whether a multiplexer of the architecture already has the verdicts that libseccomp gives it for the rules of a name.
    fn multiplexed_alike(&mut self, arch: Arch, name: &str, rules: &Rules) -> Result<bool> {
        let Some(nr) = multiplexer(arch, name) else { return Ok(true) };
        let own = self.fit.syscall(arch.token(), nr);
        // A rule without conditions for the multiplexer itself decides.
        if self.fit.store.as_verdict(own).is_some_and(|verdict| verdict != self.numbering.default) {
            return Ok(true);
        }
        let behind = behind(self.fit, (arch, nr), [(name, rules)], self.numbering.default)?;
        let combinations = self.fit.store.verdict_combinations([behind, own])?;
        let is_alike = |([added, own], _): &([Verdict; 2], _)| {
            *added == self.numbering.default || added == own
        };
        Ok(combinations.iter().all(is_alike))
    }
}

/// The maximum number of comparisons of nodes to find out whether libseccomp rejects the rules of a syscall.
const MAX_STEPS: u64 = 2_000_000;

/// Why libseccomp rejects rules of one syscall.
const CONFLICTING: &str = "libseccomp rejects these conditions with several actions";

/// The rules of all names that need some.
pub(crate) fn named_rules(
    fit: &mut Fit<'_>,
    numbering: &Numbering,
    language: NamedLanguage,
) -> Result<BTreeMap<&'static str, Rules>> {
    numbering.fit_unnamed(fit)?;
    let names: BTreeSet<&'static str> =
        fit.arches.iter().flat_map(|arch| arch.syscalls().map(|(_, name)| name)).collect();
    let mut rules = BTreeMap::new();
    let mut search = Search { fit, numbering, language, meanings: Meanings::default() };
    // Rules for the syscalls behind a multiplexer are compared with its own, which must be known.
    let (first, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| is_multiplexer(name));
    for name in first.into_iter().chain(others) {
        let own = search.of_name(name)?;
        if !own.is_empty() {
            rules.insert(name, own);
        }
    }
    Ok(rules)
}

/// New functions of syscalls.
type Changes = Vec<(Arch, u32, Func)>;

/// Whether any version of libseccomp rejects one of the rules, with such a conflict or because there are too many to know.
fn is_refused(set: &RuleSet<()>, is_such: fn(&Conflict<()>) -> bool) -> bool {
    let versions = [LibseccompVersion::Before2_6_1, LibseccompVersion::From2_6_1];
    versions.into_iter().any(|version| {
        let found = set.refused(version, &mut MAX_STEPS.clone());
        found.conflicts.iter().any(is_such) || !found.unknown.is_empty()
    })
}

/// The multiplexers.
pub(crate) const MULTIPLEXERS: [&str; 2] = ["socketcall", "ipc"];

/// Whether a syscall stands for several others.
pub(crate) fn is_multiplexer(name: &str) -> bool {
    MULTIPLEXERS.contains(&name)
}

/// The number of the multiplexer that also reaches a syscall.
pub(crate) fn multiplexer(arch: Arch, name: &str) -> Option<u32> {
    arch.number(arch.multiplexed(name)?.0)
}

/// What libseccomp does with a multiplexer for the rules of these names.
pub(crate) fn behind<'r>(
    fit: &mut Fit<'_>,
    (arch, nr): (Arch, u32),
    rules: impl IntoIterator<Item = (&'r str, &'r Rules)>,
    default: Verdict,
) -> Result<Func> {
    let mut set = RuleSet::new(arch);
    for (name, own) in rules {
        for (verdict, all) in own.iter().filter(|(verdict, _)| *verdict != default) {
            set.add_syscall_if_known(name, all, *verdict, ());
        }
    }
    meaning_of(fit, &set, nr, default)
}

/// What the rules of a set mean for a syscall.
fn meaning_of(fit: &mut Fit<'_>, set: &RuleSet<()>, nr: u32, default: Verdict) -> Result<Func> {
    let policy = Policy::new(sections([set], default, BAD_ARCH), BAD_ARCH);
    let policy = policy.map_err(|error| ConvertError::defect(error.to_string()))?;
    let all = fit.store.policy(&policy)?;
    let numbers = fit.store.follow(all, Word::ARCH, set.arch().token());
    Ok(fit.store.follow(numbers, Word::NR, nr))
}
