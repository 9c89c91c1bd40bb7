//! Conversion to container profiles, and to `SeccompProfile` resources.

use std::collections::BTreeMap;

use super::lower::BAD_ARCH;
use super::options::{Dialect, EnosysAbove};
use super::write::{
    WriteEntry, WriteProfile, action_of, has_resource_arch, write as write_profile, write_resource,
};
use crate::convert::comparisons::{self, Rules};
use crate::convert::error::{ConvertError, Result};
use crate::convert::fit::Fit;
use crate::convert::named_rules::{NamedLanguage, named_rules};
use crate::convert::numbering::{DENIAL, Numbering, Unlisted};
use crate::languages::Writing;
use crate::ruleset::{Comparison, Op};
use callgate_bpf::SyscallTable;
use callgate_codegen::query;
use callgate_core::{Action, Arch, Verdict};

/// Numbers without an entry.
fn unlisted(enosys_above: bool, dialect: Dialect) -> Unlisted {
    Unlisted {
        why: "a container profile names syscalls, so numbers without a name get the default action",
        enosys_above,
        kills_other_abi: true,
        can_be_default: match is_for_runc(dialect) {
            true => |verdict| !is_notification(verdict),
            false => |_| true,
        },
        fallbacks: &[DENIAL, Verdict::KILL_PROCESS],
        may_lack_enosys: false,
    }
}

/// Writes a profile.
pub(crate) fn write(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String> {
    let dialect = writing.dialect.unwrap_or(Dialect::Oci);
    fit_verdicts(fit, dialect)?;
    let language = NamedLanguage {
        refuses_conflicts: dialect != Dialect::Oci,
        reaches_multiplexed: true,
        has_fixed_arches: false,
        max_number: MAX_EXACT,
        unsayable: |_, _| None,
    };
    if is_for_runc(dialect) {
        fit_notifications(fit)?;
    }
    let unlisted = unlisted(has_enosys(writing), dialect);
    let profile = profile(fit, writing, unlisted, language)?;
    write_profile(&profile, dialect).ok_or_else(|| ConvertError::defect("a verdict has no action"))
}

/// The profile, in a dialect or in a resource.
pub(crate) fn profile(
    fit: &mut Fit<'_>,
    writing: &Writing<'_>,
    unlisted: Unlisted,
    language: NamedLanguage,
) -> Result<WriteProfile> {
    fit.set_others(
        BAD_ARCH,
        "container profiles kill syscalls of other architectures (KILL_THREAD)",
    )?;
    let mut numbering = Numbering::choose(fit, unlisted)?;
    let rules = named_rules(fit, &numbering, language)?;
    numbering.name_bounds(fit)?;
    note_large_numbers(fit, &rules);
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
    Ok(WriteProfile {
        default: numbering.default,
        arches: fit.arches.clone(),
        flags: writing.flags,
        listener: writing.listener.cloned(),
        entries,
    })
}

/// The largest number that programs keep which read JSON numbers as floating-point ones: 2⁵³ - 1.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Whether the profile is read with runc's ENOSYS check.
fn has_enosys(writing: &Writing<'_>) -> bool {
    writing.enosys_above.is_some_and(|how| how != EnosysAbove::Off)
}

/// Notes the numbers that such programs change.
fn note_large_numbers(fit: &mut Fit<'_>, rules: &BTreeMap<&'static str, Rules>) {
    let is_large = |one: &Comparison| {
        let mask = if let Op::MaskedEq(mask) = one.op() { mask } else { 0 };
        one.value().max(mask) > MAX_EXACT
    };
    let names =
        rules.iter().filter(|(_, rules)| rules.iter().any(|(_, all)| all.iter().any(is_large)));
    let names: Vec<&'static str> = names.map(|(name, _)| *name).collect();
    if !names.is_empty() {
        fit.remark(
            "numbers from 2^53, which jq and JavaScript change: do not edit this profile with them",
            &names,
        );
    }
}

/// Whether runc installs the profiles of a dialect.
fn is_for_runc(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Docker | Dialect::Runc)
}

fn is_notification(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::UserNotif(_))
}

/// Replaces notifications of `write`, with which runc rejects a profile.
fn fit_notifications(fit: &mut Fit<'_>) -> Result<()> {
    const DENIED: Verdict = Verdict::errno(1);
    let why = "runc rejects SCMP_ACT_NOTIFY for write, which it needs itself";
    for arch in fit.arches.clone() {
        let Some(nr) = arch.number("write") else { continue };
        let func = fit.syscall(arch.token(), nr);
        let has_it = query::has_verdict(fit.store, func, Verdict::user_notif(0))?;
        let denied = fit.store.verdict(DENIED)?;
        let fitted = fit.store.select(has_it, denied, func)?;
        fit.replace_syscall((arch, nr), fitted, why)?;
    }
    Ok(())
}

/// Replaces verdicts without an action.
pub(crate) fn fit_verdicts(fit: &mut Fit<'_>, dialect: Dialect) -> Result<()> {
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
        fit.replace_verdict(None, verdict, nearest, why)?;
    }
    Ok(())
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
        let direct = rules.keys().filter(|name| arch.multiplexed(name).is_none());
        let is_reached = direct.filter_map(|name| arch.number(name)).any(|nr| nr >= *bound);
        let name = arch.syscall_name(*bound)?;
        if !is_reached && !names.contains(&name) {
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

// `SeccompProfile` resources of the Security Profiles Operator, version `v1`.
//
// The resource has no errno for its default action, so ERRNO is EPERM there; an errno of 0 counts as not given, and values
// of arguments have 63 bits (`api/seccompprofile/v1/seccompprofile_types.go` of the operator).

/// The errno where none is given.
const EPERM: u16 = 1;

/// The name of the resource, unless one is given.
const NAME: &str = "converted-profile";

/// Writes a resource.
pub(crate) fn resource(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String> {
    if let Some(arch) = fit.arches.first().filter(|arch| !has_resource_arch(**arch)) {
        let why = format!("a SeccompProfile resource cannot name {arch}");
        return Err(ConvertError::unsupported(why));
    }
    fit.arches.retain(|arch| has_resource_arch(*arch));
    // The resource has errnos up to 4095, but libseccomp rejects the last one.
    fit_verdicts(fit, Dialect::Runc)?;
    for (old, new, why) in [
        (Verdict::errno(0), Verdict::errno(EPERM), "errnoRet 0 means EPERM in this resource"),
        (Verdict::trace(0), Verdict::trace(EPERM), "errnoRet 0 means 1 in this resource"),
    ] {
        fit.replace_verdict(None, old, new, why)?;
    }
    let unlisted = Unlisted {
        why: "the resource names syscalls, and its default action has no errno but EPERM",
        enosys_above: has_enosys(writing),
        kills_other_abi: true,
        can_be_default,
        fallbacks: &[DENIAL],
        may_lack_enosys: has_enosys(writing),
    };
    let language = NamedLanguage {
        refuses_conflicts: true,
        reaches_multiplexed: true,
        has_fixed_arches: false,
        max_number: MAX_EXACT,
        unsayable,
    };
    let profile = profile(fit, writing, unlisted, language)?;
    let name = writing.name.unwrap_or(NAME);
    write_resource(&profile, name).ok_or_else(|| ConvertError::defect("a verdict has no action"))
}

fn can_be_default(verdict: Verdict) -> bool {
    match verdict.action() {
        Action::Errno(data) | Action::Trace(data) => data == EPERM,
        Action::UserNotif(_) => false,
        _ => true,
    }
}

/// Why an entry cannot have a comparison.
fn unsayable(_: &'static str, comparison: &Comparison) -> Option<&'static str> {
    let is_large = |value: u64| i64::try_from(value).is_err();
    let is_unsayable = match comparison.op() {
        Op::MaskedEq(mask) => is_large(mask) || is_large(comparison.value()),
        _ => is_large(comparison.value()),
    };
    is_unsayable.then_some("values and masks of the resource are below 2^63")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_action_has_no_errno() {
        assert!(can_be_default(Verdict::errno(1)) && can_be_default(Verdict::KILL_PROCESS));
        assert!(!can_be_default(Verdict::errno(38)) && !can_be_default(Verdict::user_notif(0)));
    }
}
