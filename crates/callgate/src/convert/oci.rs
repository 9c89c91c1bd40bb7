//! Container profiles: OCI, Docker, Podman.

use std::collections::{BTreeMap, BTreeSet};

use super::comparisons::{self, Unsayable};
use super::error::ConvertError;
use super::fit::Fit;
use super::numbering::Numbering;
use super::options::ConvertOptions;
use callgate_bpf::data::Word;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::{Action, Verdict};
use callgate_formats::oci::{
    self, BAD_ARCH, Dialect, EnosysAbove, WriteEntry, WriteProfile, action_of,
};
use callgate_formats::ruleset::{Comparison, LibseccompVersion, RuleSet, sections};
use callgate_proof::diagram::Func;
use callgate_proof::policy::Policy;

/// The rules of a syscall: verdicts, and the comparisons that must all hold.
type Rules = Vec<(Verdict, Vec<Comparison>)>;

/// What rules mean on an architecture, or why the runtimes reject them; many syscalls have the same rules.
type Meanings = BTreeMap<(Arch, Rules), Result<Func, &'static str>>;

/// The maximum number of comparisons of nodes to find out whether libseccomp rejects the rules of a syscall.
const MAX_STEPS: u64 = 2_000_000;

/// Writes a profile.
pub(super) fn write(
    fit: &mut Fit<'_>,
    options: &ConvertOptions,
    dialect: Dialect,
) -> Result<String, ConvertError> {
    fit_verdicts(fit, dialect)?;
    fit.set_others(
        BAD_ARCH,
        "container profiles kill syscalls of other architectures (KILL_THREAD)",
    )?;
    let enosys = options.enosys_above.unwrap_or(default_enosys(dialect));
    let numbering = Numbering::choose(fit, enosys != EnosysAbove::Off)?;
    numbering.fit_unnamed(fit)?;
    let names: BTreeSet<&'static str> =
        fit.arches.iter().flat_map(|arch| arch.syscalls().map(|(_, name)| name)).collect();
    let (mut rules, mut meanings) = (BTreeMap::new(), Meanings::new());
    for name in names {
        let own = of_name(fit, name, &numbering, dialect, &mut meanings)?;
        if !own.is_empty() {
            rules.insert(name, own);
        }
    }
    let mut entries = entries(&rules, &numbering, fit.arches.first().copied());
    if entries.is_empty() {
        // Without an entry there would be no filter at all.
        entries.push(WriteEntry {
            comment: Some("Like all others.".to_owned()),
            names: vec!["exit_group"],
            verdict: numbering.default,
            args: Vec::new(),
        });
    }
    let profile = WriteProfile {
        default: numbering.default,
        arches: fit.arches.clone(),
        flags: options.flags,
        listener: None,
        entries,
    };
    oci::write(&profile, dialect).ok_or_else(|| ConvertError::defect("a verdict has no action"))
}

/// Whether a dialect has runc's ENOSYS check.
fn default_enosys(dialect: Dialect) -> EnosysAbove {
    match dialect {
        Dialect::Docker | Dialect::Runc => EnosysAbove::On,
        _ => EnosysAbove::Off,
    }
}

/// Replaces verdicts without an action.
fn fit_verdicts(fit: &mut Fit<'_>, dialect: Dialect) -> Result<(), ConvertError> {
    for verdict in fit.store.verdicts(fit.func) {
        if action_of(verdict, dialect).is_some() {
            continue;
        }
        let (nearest, why) = match verdict.action() {
            Action::Errno(_) => (Verdict::errno(4094), "libseccomp accepts errnos up to 4094"),
            Action::Trap(_) => (Verdict::trap(0), "SCMP_ACT_TRAP takes no data"),
            Action::UserNotif(_) => (Verdict::user_notif(0), "SCMP_ACT_NOTIFY takes no data"),
            Action::Allow => (Verdict::ALLOW, "SCMP_ACT_ALLOW takes no data"),
            Action::Log => (Verdict::LOG, "SCMP_ACT_LOG takes no data"),
            Action::KillThread => (Verdict::KILL_THREAD, "SCMP_ACT_KILL_THREAD takes no data"),
            _ => (Verdict::KILL_PROCESS, "there is no such action; the kernel kills the process"),
        };
        fit.replace_verdict(verdict, nearest, why)?;
    }
    Ok(())
}

/// The rules of a name, which are the same on all architectures; none for the default action.
fn of_name(
    fit: &mut Fit<'_>,
    name: &'static str,
    numbering: &Numbering,
    dialect: Dialect,
    meanings: &mut Meanings,
) -> Result<Rules, ConvertError> {
    let numbers: Vec<(Arch, u32)> =
        fit.arches.iter().filter_map(|arch| Some((*arch, arch.number(name)?))).collect();
    let Some((first, nr)) = numbers.first().copied() else { return Ok(Rules::new()) };
    let func = fit.syscall(first.token(), nr);
    let why = match of_func(fit, func, first, name, numbering)? {
        Ok(rules) => {
            let mut differs = None;
            for (arch, nr) in &numbers {
                let wanted = fit.syscall(arch.token(), *nr);
                let key = (*arch, rules.clone());
                // The default action depends on the number.
                let has_rules = rules.iter().any(|(verdict, _)| *verdict != numbering.default);
                let known = meanings.get(&key).copied().filter(|_| has_rules);
                let own = match known {
                    Some(own) => own,
                    None => meaning(fit, *arch, *nr, &rules, numbering, dialect)?,
                };
                meanings.insert(key, own);
                match own {
                    Ok(own) if own == wanted => {
                        if !multiplexed_alike(fit, *arch, name, &rules, numbering)? {
                            differs = Some("libseccomp also applies rules to socketcall and ipc");
                        }
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
    let all = numbers.iter().map(|(arch, nr)| fit.syscall(arch.token(), *nr)).collect::<Vec<_>>();
    let verdict = super::strictness::strictest(all.iter().map(|func| fit.strictest(*func)));
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
    Ok(rules)
}

/// The rules for a function of the arguments.
fn of_func(
    fit: &mut Fit<'_>,
    func: Func,
    arch: Arch,
    name: &str,
    numbering: &Numbering,
) -> Result<Result<Rules, Unsayable>, ConvertError> {
    if let Some(verdict) = fit.store.as_verdict(func) {
        let nr = arch.number(name).unwrap_or(0);
        let is_default = numbering.expected_at(arch.token(), nr) == verdict;
        return Ok(Ok(if is_default { Rules::new() } else { vec![(verdict, Vec::new())] }));
    }
    let stopped = |stop| ConvertError::of_syscall(stop, || format!("{name} ({arch})"));
    let mut rules = Rules::new();
    let mut verdicts = fit.store.verdicts(func);
    verdicts.sort();
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
    dialect: Dialect,
) -> Result<Result<Func, &'static str>, ConvertError> {
    let own = rules.iter().filter(|(verdict, _)| *verdict != numbering.default);
    let mut set = RuleSet::new(arch);
    own.for_each(|(verdict, all)| set.add(nr, all, *verdict, ()));
    if set.is_empty() {
        let expected = numbering.expected_at(arch.token(), nr);
        return Ok(Ok(fit.store.verdict(expected)?));
    }
    let is_refused = |version| {
        let found = set.refused(version, &mut MAX_STEPS.clone());
        !found.conflicts.is_empty() || !found.unknown.is_empty()
    };
    let versions = [LibseccompVersion::Before2_6_1, LibseccompVersion::From2_6_1];
    if !set.contradictions().is_empty()
        || dialect != Dialect::Oci && versions.into_iter().any(is_refused)
    {
        return Ok(Err("libseccomp rejects these conditions with several actions"));
    }
    let policy = Policy::new(sections([&set], numbering.default, BAD_ARCH), BAD_ARCH);
    let policy = policy.map_err(|error| ConvertError::defect(error.to_string()))?;
    let all = fit.store.policy(&policy)?;
    let numbers = fit.store.follow(all, Word::ARCH, arch.token());
    Ok(Ok(fit.store.follow(numbers, Word::NR, nr)))
}

/// Whether a multiplexer of the architecture already has the verdicts that libseccomp gives it for the rules of a name.
fn multiplexed_alike(
    fit: &mut Fit<'_>,
    arch: Arch,
    name: &str,
    rules: &Rules,
    numbering: &Numbering,
) -> Result<bool, ConvertError> {
    let Some((multiplexer, _)) = arch.multiplexed(name) else { return Ok(true) };
    let Some(nr) = arch.number(multiplexer) else { return Ok(true) };
    let own = fit.syscall(arch.token(), nr);
    // A rule without conditions for the multiplexer itself decides.
    if fit.store.as_verdict(own).is_some_and(|verdict| verdict != numbering.default) {
        return Ok(true);
    }
    let mut set = RuleSet::new(arch);
    for (verdict, all) in rules.iter().filter(|(verdict, _)| *verdict != numbering.default) {
        set.add_syscall_if_known(name, all, *verdict, ());
    }
    let policy = Policy::new(sections([&set], numbering.default, BAD_ARCH), BAD_ARCH);
    let policy = policy.map_err(|error| ConvertError::defect(error.to_string()))?;
    let all = fit.store.policy(&policy)?;
    let numbers = fit.store.follow(all, Word::ARCH, arch.token());
    let behind = fit.store.follow(numbers, Word::NR, nr);
    let combinations = fit.store.verdict_combinations([behind, own])?;
    let is_alike =
        |([added, own], _): &([Verdict; 2], _)| *added == numbering.default || added == own;
    Ok(combinations.iter().all(is_alike))
}

/// The entries: one for all syscalls with the same action and the same conditions.
fn entries(
    rules: &BTreeMap<&'static str, Rules>,
    numbering: &Numbering,
    arch: Option<Arch>,
) -> Vec<WriteEntry> {
    let mut groups: BTreeMap<(bool, u32, Vec<Comparison>), Vec<&'static str>> = BTreeMap::new();
    for (name, own) in rules {
        for (verdict, all) in own {
            // What is always allowed comes first.
            let key = (!all.is_empty(), u32::MAX - verdict.0, all.clone());
            groups.entry(key).or_default().push(name);
        }
    }
    let text = |all: &[Comparison], names: &[&'static str]| {
        let (name, arch) = (names.first()?, arch?);
        let parts: Vec<String> =
            all.iter().map(|one| comparisons::describe(one, arch, name)).collect();
        (names.len() == 1 && !parts.is_empty()).then(|| parts.join(" and "))
    };
    let mut entries: Vec<WriteEntry> = groups
        .into_iter()
        .map(|((_, verdict, args), names)| WriteEntry {
            comment: text(&args, &names),
            names,
            verdict: Verdict(u32::MAX - verdict),
            args,
        })
        .collect();
    // Entries of one syscall with several conditions stay together.
    entries.sort_by_key(|entry| match entry.args.is_empty() {
        true => (0, entry.verdict != Verdict::ALLOW, ""),
        false => (1, false, entry.names.first().copied().unwrap_or_default()),
    });
    entries.extend(bounds(rules, numbering));
    entries
}

/// An entry with the default action that names the bounds of the ENOSYS check.
fn bounds(rules: &BTreeMap<&'static str, Rules>, numbering: &Numbering) -> Option<WriteEntry> {
    let mut names: Vec<&'static str> = Vec::new();
    for (arch, bound) in &numbering.bounds {
        let name = arch.syscall_name(*bound)?;
        if !rules.contains_key(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    let comment = "Denied like all others. Named because runc returns ENOSYS for numbers above the largest \
                   named one.";
    (!names.is_empty()).then(|| WriteEntry {
        comment: Some(comment.to_owned()),
        names,
        verdict: numbering.default,
        args: Vec::new(),
    })
}
