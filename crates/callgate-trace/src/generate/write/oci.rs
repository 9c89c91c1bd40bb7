//! Profiles for Docker, Podman and OCI runtimes, in JSON: `linux.seccomp` of the OCI runtime specification, with
//! Docker's key `comment` for each entry, which runtimes ignore.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::comments::{MADE_BY_KERNEL_WHY, limits, origin, wrapped};
use super::policy::has_conditions;
use crate::generate::arg_limit::{ArgLimit, Cube};
use crate::generate::draft::Draft;
use crate::generate::format::ProfileFormat;
use crate::generate::grant::{Grant, GrantReason};
use crate::generate::options::DenyAction;
use crate::recording::json::QuotedString;
use callgate_bpf::syscalls::Arch;

/// The maximum width of a line of names.
const WIDTH: usize = 72;

pub(super) fn write(draft: &Draft) -> String {
    let mut text = "{\n".to_owned();
    let (action, errno) = action(draft);
    let _ = writeln!(text, "  \"defaultAction\": \"{action}\",");
    if let Some(errno) = errno {
        let _ = writeln!(text, "  \"defaultErrnoRet\": {errno},");
    }
    let arches: Vec<String> =
        draft.arches().iter().map(|arch| QuotedString(arch.oci_name()).to_string()).collect();
    let _ = writeln!(text, "  \"architectures\": [{}],", arches.join(", "));
    let _ = writeln!(text, "  \"syscalls\": [\n{}\n  ]\n}}", entries(draft).join(",\n"));
    text
}

/// The action of all other syscalls, and its errno.
fn action(draft: &Draft) -> (&'static str, Option<u16>) {
    match draft.deny() {
        DenyAction::Kill => ("SCMP_ACT_KILL_PROCESS", None),
        DenyAction::Log => ("SCMP_ACT_LOG", None),
        DenyAction::Enosys | DenyAction::Eperm => {
            ("SCMP_ACT_ERRNO", Some(draft.default_verdict().data()))
        }
    }
}

fn entries(draft: &Draft) -> Vec<String> {
    let (mut recorded, mut runtime, mut by_kernel) = (Vec::new(), Vec::new(), Vec::new());
    let mut siblings: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut limited = Vec::new();
    for grant in draft.grants() {
        match grant.reason {
            _ if has_conditions(grant) => limited.extend(conditional(draft, grant)),
            GrantReason::Recorded(_) => recorded.push(grant.name),
            GrantReason::Runtime => runtime.push(grant.name),
            GrantReason::Kernel => by_kernel.push(grant.name),
            GrantReason::Sibling { of, why } => {
                siblings.entry((of, why)).or_default().push(grant.name)
            }
        }
    }
    let allow = |comment: &str, names: &[&str]| entry(comment, names, "SCMP_ACT_ALLOW", &[]);
    let head = format!("Recorded; {}. All {}.", origin(draft), draft.deny().description());
    let mut entries = Vec::new();
    if !recorded.is_empty() {
        entries.push(allow(&head, &recorded));
    }
    if !runtime.is_empty() {
        entries.push(allow(&format!("Not recorded: {}.", draft.runtime().description()), &runtime));
    }
    if !by_kernel.is_empty() {
        entries.push(allow(&format!("Not recorded: {MADE_BY_KERNEL_WHY}."), &by_kernel));
    }
    for ((of, why), names) in siblings {
        entries.push(allow(&format!("Related to {of}, which was recorded: {why}."), &names));
    }
    entries.extend(limited);
    let refused: Vec<&str> = draft.refused_explicitly(ProfileFormat::Oci).collect();
    if !refused.is_empty() {
        let enosys = draft.arches().first().map_or(38, |arch| Arch::enosys(*arch));
        let more = [("errnoRet", enosys.to_string())];
        let comment = "Fails with ENOSYS, so that libraries fall back to a granted syscall.";
        entries.push(entry(comment, &refused, "SCMP_ACT_ERRNO", &more));
    }
    let bounds = bounds(draft, &refused);
    if !bounds.is_empty() {
        let (action, errno) = action(draft);
        let more: Vec<_> = errno.map(|errno| ("errnoRet", errno.to_string())).into_iter().collect();
        let comment = "Denied like all others. Named because runc returns ENOSYS for numbers above the \
                       largest named one, ignoring syscalls behind socketcall and ipc.";
        entries.push(entry(comment, &bounds, action, &more));
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
fn conditional(draft: &Draft, grant: &Grant) -> Vec<String> {
    let mut comment = limits(draft, grant);
    let mut entries = Vec::new();
    for alternative in grant.alternatives() {
        let args: Vec<String> =
            alternative.into_iter().filter_map(|(limit, cube)| arg(limit, cube)).collect();
        let args = format!("[\n        {}\n      ]", args.join(",\n        "));
        entries.push(entry(&comment, &[grant.name], "SCMP_ACT_ALLOW", &[("args", args)]));
        comment = "as above".to_owned();
    }
    entries
}

fn arg(limit: &ArgLimit, cube: Cube) -> Option<String> {
    let ArgLimit { arg, .. } = limit;
    let Cube { mask, wanted } = cube;
    Some(match mask {
        0 => return None,
        u64::MAX => format!("{{\"index\": {arg}, \"value\": {wanted}, \"op\": \"SCMP_CMP_EQ\"}}"),
        _ => format!(
            "{{\"index\": {arg}, \"value\": {mask}, \"valueTwo\": {wanted}, \
             \"op\": \"SCMP_CMP_MASKED_EQ\"}}"
        ),
    })
}

fn entry(comment: &str, names: &[&str], action: &str, more: &[(&str, String)]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| QuotedString(name).to_string()).collect();
    let lines = wrapped(quoted.iter().map(String::as_str), WIDTH, ", ");
    let names = match lines.as_slice() {
        [line] => format!("[{line}]"),
        lines => format!("[\n        {}\n      ]", lines.join(",\n        ")),
    };
    let mut text = format!(
        "    {{\n      \"comment\": {},\n      \"names\": {names},\n      \"action\": \"{action}\"",
        QuotedString(comment)
    );
    for (key, value) in more {
        let _ = write!(text, ",\n      \"{key}\": {value}");
    }
    text + "\n    }"
}
