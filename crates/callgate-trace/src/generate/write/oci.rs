//! Profiles for Docker, Podman and OCI runtimes, in JSON: `linux.seccomp` of the OCI runtime specification, with
//! Docker's key `comment` for each entry, which runtimes ignore.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use super::comments::{MADE_BY_KERNEL_WHY, all_in_code, dangerous, is_dangerous, limits, origin};
use super::policy::has_conditions;
use crate::generate::draft::Draft;
use crate::generate::format::ProfileFormat;
use crate::generate::grant::{Grant, GrantReason};
use crate::generate::language_runtime::LanguageRuntime;
use callgate_bpf::FilterFlags;
use callgate_core::{Arch, Verdict};
use callgate_formats::oci::{self, Dialect, WriteEntry, WriteProfile};
use callgate_formats::ruleset::{Comparison, Op};

/// The text; empty only because of a defect, which reading it back shows.
pub(super) fn write(draft: &Draft) -> String {
    oci::write(&profile(draft, ProfileFormat::Oci), Dialect::Oci).unwrap_or_default()
}

/// A `SeccompProfile` resource; `None` if the resource cannot express it.
pub(super) fn write_resource(draft: &Draft) -> Option<String> {
    let profile = profile(draft, ProfileFormat::Kubernetes);
    // Values are signed there.
    let is_small = |value: u64| i64::try_from(value).is_ok();
    let mut comparisons = profile.entries.iter().flat_map(|entry| &entry.args);
    let is_expressible = comparisons.all(|comparison| {
        is_small(comparison.value())
            && match comparison.op() {
                Op::MaskedEq(mask) => is_small(mask),
                _ => true,
            }
    });
    let has_arches = profile.arches.iter().all(|arch| oci::has_resource_arch(*arch));
    if !is_expressible || !has_arches {
        return None;
    }
    oci::write_resource(&profile, &draft.resource)
}

fn profile(draft: &Draft, format: ProfileFormat) -> WriteProfile {
    WriteProfile {
        default: draft.default_verdict_in(format),
        arches: draft.arches().to_vec(),
        flags: FilterFlags::NONE,
        listener: None,
        entries: entries(draft, format),
    }
}

fn entries(draft: &Draft, format: ProfileFormat) -> Vec<WriteEntry> {
    let (mut recorded, mut runtime, mut by_kernel) = (Vec::new(), Vec::new(), Vec::new());
    let mut siblings: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut by_runtime: BTreeMap<LanguageRuntime, Vec<&str>> = BTreeMap::new();
    let (mut limited, mut in_code) = (Vec::new(), Vec::new());
    for grant in draft.grants() {
        match grant.reason {
            _ if has_conditions(grant) => limited.extend(conditional(draft, grant)),
            _ if is_dangerous(draft, grant) => {}
            GrantReason::Recorded(_) => recorded.push(grant.name),
            GrantReason::Code => in_code.push(grant),
            GrantReason::Runtime => runtime.push(grant.name),
            GrantReason::Kernel => by_kernel.push(grant.name),
            GrantReason::Language { runtime, .. } => {
                by_runtime.entry(runtime).or_default().push(grant.name);
            }
            GrantReason::Sibling { of, why } => {
                siblings.entry((of, why)).or_default().push(grant.name)
            }
        }
    }
    let allow = |comment: &str, names: &[&'static str]| entry(comment, names, Verdict::ALLOW);
    let head = format!("Recorded; {}. All {}.", origin(draft), draft.deny().description());
    let mut entries = Vec::new();
    if !recorded.is_empty() {
        entries.push(allow(&head, &recorded));
    }
    for (name, why) in dangerous(draft) {
        entries.push(allow(&why, &[name]));
    }
    if !in_code.is_empty() {
        let names: Vec<&str> = in_code.iter().map(|grant| grant.name).collect();
        let comment = match recorded.is_empty() {
            true => format!("{} All {}.", all_in_code(&in_code), draft.deny().description()),
            false => all_in_code(&in_code),
        };
        entries.push(allow(&comment, &names));
    }
    if !runtime.is_empty() {
        entries.push(allow(&format!("Not recorded: {}.", draft.runtime().description()), &runtime));
    }
    if !by_kernel.is_empty() {
        entries.push(allow(&format!("Not recorded: {MADE_BY_KERNEL_WHY}."), &by_kernel));
    }
    for (runtime, names) in by_runtime {
        entries.push(allow(&format!("Not recorded: {}.", runtime.description()), &names));
    }
    for ((of, why), names) in siblings {
        entries.push(allow(&format!("Related to {of}, which was recorded: {why}."), &names));
    }
    entries.extend(limited);
    let mut refused: Vec<&str> = draft.refused_explicitly(format).collect();
    let enosys = draft.arches().first().map_or(38, |arch| Arch::enosys(*arch));
    if !refused.is_empty() {
        let comment = "Fails with ENOSYS, so that libraries fall back to a granted syscall.";
        entries.push(entry(comment, &refused, Verdict::errno(enosys)));
    }
    let others = draft.others_with_enosys(format);
    if !others.is_empty() {
        let comment = "All other syscalls fail with ENOSYS, as on a kernel without them. They are named because \
                       the default action has no errno but EPERM.";
        entries.push(entry(comment, &others, Verdict::errno(enosys)));
    }
    refused.extend(others);
    let bounds = bounds(draft, &refused);
    if !bounds.is_empty() {
        let comment = "Denied like all others. Named because runc returns ENOSYS for numbers above the \
                       largest named one, ignoring syscalls behind socketcall and ipc.";
        entries.push(entry(comment, &bounds, draft.default_verdict_in(format)));
    }
    entries
}

/// Syscalls that must be named so that runc does not deny granted ones. runc returns ENOSYS for numbers above the
/// largest named one. On architectures with `socketcall` and `ipc` it ignores the syscalls behind them here, although
/// these have numbers of their own.
fn bounds(draft: &Draft, refused: &[&str]) -> Vec<&'static str> {
    let mut bounds = Vec::new();
    for arch in draft.arches() {
        let counts = |name: &&str| arch.multiplexed(name).is_none();
        let grants = || draft.grants().map(|grant| grant.name);
        let named = grants().chain(refused.iter().copied()).filter(counts);
        let largest = named.filter_map(|name| arch.number(name)).max();
        let granted = grants().filter_map(|name| arch.number(name)).max();
        if largest.is_some_and(|largest| largest > 0) && granted > largest {
            let above = arch.syscalls().filter(|(nr, name)| Some(*nr) > granted && counts(name));
            bounds.extend(above.min().map(|(_, name)| name));
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

/// One entry for each alternative of the limits.
fn conditional(draft: &Draft, grant: &Grant) -> Vec<WriteEntry> {
    let mut comment = limits(draft, grant);
    let mut entries = Vec::new();
    for alternative in grant.alternatives() {
        let args: Vec<Comparison> =
            alternative.into_iter().filter_map(|(limit, cube)| limit.comparison(cube)).collect();
        entries.push(WriteEntry { args, ..entry(&comment, &[grant.name], Verdict::ALLOW) });
        comment = "as above".to_owned();
    }
    entries
}

fn entry(comment: &str, names: &[&'static str], verdict: Verdict) -> WriteEntry {
    WriteEntry {
        comment: Some(comment.to_owned()),
        names: names.to_vec(),
        verdict,
        args: Vec::new(),
    }
}
