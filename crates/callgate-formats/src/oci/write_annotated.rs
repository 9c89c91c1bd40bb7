//! Profiles with comments: `linux.seccomp` of the OCI runtime specification, with Docker's key `comment` for each entry, which
//! runtimes ignore, and resources of Kubernetes.

use super::options::Dialect;
use super::write::{
    WriteEntry, WriteProfile, has_resource_arch, write as write_profile,
    write_resource as write_as_resource,
};
use crate::annotated::{Annotated, Group, Reason};
use crate::ruleset::{Comparison, Op};
use callgate_bpf::{FilterFlags, SyscallTable};
use callgate_core::Verdict;

/// The text for container runtimes.
pub(super) fn write(policy: &Annotated) -> Option<String> {
    write_profile(&profile(policy), Dialect::Oci)
}

/// A `SeccompProfile` resource; `None` if the resource cannot express it.
pub(super) fn write_resource(policy: &Annotated) -> Option<String> {
    let profile = profile(policy);
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
    let has_arches = profile.arches.iter().all(|arch| has_resource_arch(*arch));
    if !is_expressible || !has_arches {
        return None;
    }
    write_as_resource(&profile, &policy.name)
}

fn profile(policy: &Annotated) -> WriteProfile {
    let mut entries: Vec<WriteEntry> = Vec::new();
    let is_recorded = |group: &Group| group.reason == Reason::Recorded && !group.names.is_empty();
    let has_recorded = policy.groups.iter().any(is_recorded);
    for group in policy.groups.iter().filter(|group| !group.names.is_empty()) {
        let denied = || format!("All {}.", policy.denied);
        let comment = match &group.reason {
            Reason::Recorded => format!("Recorded; {}. {}", policy.origin, denied()),
            Reason::Code(why) if !has_recorded => format!("{why} {}", denied()),
            other => other.text().to_owned(),
        };
        entries.extend(of_group(group, comment));
    }
    let bounds = bounds(policy);
    if !bounds.is_empty() {
        let comment = "Denied like all others. Named because runc returns ENOSYS for numbers above the \
                       largest named one, ignoring syscalls behind socketcall and ipc.";
        entries.push(entry(comment.to_owned(), bounds, policy.default, Vec::new()));
    }
    WriteProfile {
        default: policy.default,
        arches: policy.arches.clone(),
        flags: FilterFlags::NONE,
        listener: None,
        entries,
    }
}

/// One entry for each alternative.
fn of_group(group: &Group, comment: String) -> Vec<WriteEntry> {
    if group.alternatives.is_empty() {
        return vec![entry(comment, group.names.clone(), group.verdict, Vec::new())];
    }
    let mut comment = Some(comment);
    let alternatives = group.alternatives.iter().map(|args| {
        let comment = comment.take().unwrap_or_else(|| "as above".to_owned());
        entry(comment, group.names.clone(), group.verdict, args.clone())
    });
    alternatives.collect()
}

/// Syscalls that must be named so that runc does not deny granted ones. runc returns ENOSYS for numbers above the
/// largest named one. On architectures with `socketcall` and `ipc` it ignores the syscalls behind them here, although
/// these have numbers of their own.
fn bounds(policy: &Annotated) -> Vec<&'static str> {
    let mut bounds = Vec::new();
    for arch in &policy.arches {
        let counts = |name: &&str| arch.multiplexed(name).is_none();
        let names = |is_wanted: fn(&Group) -> bool| {
            let groups = policy.groups.iter().filter(move |group| is_wanted(group));
            groups.flat_map(|group| group.names.iter().copied())
        };
        let named = names(|_| true).filter(counts);
        let largest = named.filter_map(|name| arch.number(name)).max();
        let granted = names(|group| group.verdict == Verdict::ALLOW);
        let granted = granted.filter_map(|name| arch.number(name)).max();
        if largest.is_some_and(|largest| largest > 0) && granted > largest {
            let above = arch.syscalls().filter(|(nr, name)| Some(*nr) > granted && counts(name));
            bounds.extend(above.min().map(|(_, name)| name));
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

fn entry(
    comment: String,
    names: Vec<&'static str>,
    verdict: Verdict,
    args: Vec<Comparison>,
) -> WriteEntry {
    WriteEntry { comment: Some(comment), names, verdict, args }
}
