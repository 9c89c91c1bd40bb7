//! Profiles of Docker, Podman and the OCI runtimes, in JSON; with Docker's `comment` for each entry,
//! which the runtimes skip. The form is that of `linux.seccomp` in the OCI runtime specification.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::{Cube, Deny, Draft, Grant, Limit, Reason};
use super::{Form, WHY_KERNEL, has_conditions, limits, origin, wrapped};
use crate::recording::json::Quoted;
use callgate_bpf::syscalls::Arch;

/// The columns that names are wrapped at.
const WIDTH: usize = 72;

pub(super) fn write(draft: &Draft) -> String {
    let mut text = "{\n".to_owned();
    let (action, errno) = action(draft);
    let _ = writeln!(text, "  \"defaultAction\": \"{action}\",");
    if let Some(errno) = errno {
        let _ = writeln!(text, "  \"defaultErrnoRet\": {errno},");
    }
    let arches: Vec<String> =
        draft.arches().iter().map(|arch| Quoted(arch.oci_name()).to_string()).collect();
    let _ = writeln!(text, "  \"architectures\": [{}],", arches.join(", "));
    let _ = writeln!(text, "  \"syscalls\": [\n{}\n  ]\n}}", entries(draft).join(",\n"));
    text
}

/// What happens to all other calls, with the errno that it fails with.
fn action(draft: &Draft) -> (&'static str, Option<u16>) {
    match draft.deny() {
        Deny::Kill => ("SCMP_ACT_KILL_PROCESS", None),
        Deny::Log => ("SCMP_ACT_LOG", None),
        Deny::Enosys | Deny::Eperm => ("SCMP_ACT_ERRNO", Some(draft.default_verdict().data())),
    }
}

fn entries(draft: &Draft) -> Vec<String> {
    let (mut recorded, mut runtime, mut by_kernel) = (Vec::new(), Vec::new(), Vec::new());
    let mut siblings: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut limited = Vec::new();
    for grant in draft.grants() {
        match grant.reason {
            _ if has_conditions(grant) => limited.extend(conditional(draft, grant)),
            Reason::Recorded(_) => recorded.push(grant.name),
            Reason::Runtime => runtime.push(grant.name),
            Reason::Kernel => by_kernel.push(grant.name),
            Reason::Sibling { of, why } => siblings.entry((of, why)).or_default().push(grant.name),
        }
    }
    let allow = |comment: &str, names: &[&str]| entry(comment, names, "SCMP_ACT_ALLOW", &[]);
    let head = format!("Recorded calls; {}. All {}.", origin(draft), draft.deny().why());
    let mut entries = Vec::new();
    if !recorded.is_empty() {
        entries.push(allow(&head, &recorded));
    }
    if !runtime.is_empty() {
        entries.push(allow(&format!("Not recorded: {}.", draft.runtime().why()), &runtime));
    }
    if !by_kernel.is_empty() {
        entries.push(allow(&format!("Not recorded: {WHY_KERNEL}."), &by_kernel));
    }
    for ((of, why), names) in siblings {
        entries.push(allow(&format!("Like {of}, which was recorded: {why}."), &names));
    }
    entries.extend(limited);
    let refused: Vec<&str> = draft.refused_by(Form::Oci).collect();
    if !refused.is_empty() {
        let enosys = draft.arches().first().map_or(38, |arch| Arch::enosys(*arch));
        let more = [("errnoRet", enosys.to_string())];
        let comment = "Libraries fall back to a granted call only when this one does not exist.";
        entries.push(entry(comment, &refused, "SCMP_ACT_ERRNO", &more));
    }
    let bounds = bounds(draft, &refused);
    if !bounds.is_empty() {
        let (action, errno) = action(draft);
        let more: Vec<_> = errno.map(|errno| ("errnoRet", errno.to_string())).into_iter().collect();
        let comment = "Denied like all others; named because runc denies numbers above the largest \
                       one named, for which calls behind socketcall and ipc do not count.";
        entries.push(entry(comment, &bounds, action, &more));
    }
    entries
}

/// The calls that must be named so that runc's ENOSYS part, which starts above the largest number named,
/// leaves every granted call alone: where `socketcall` and `ipc` exist, runc does not count the calls
/// behind them, although they have numbers of their own.
fn bounds(draft: &Draft, refused: &[&str]) -> Vec<&'static str> {
    let mut bounds = Vec::new();
    for arch in draft.arches() {
        let counts = |name: &&str| arch.multiplexed(name).is_none();
        let grants = || draft.grants().map(|grant| grant.name);
        let named = grants().chain(refused.iter().copied()).filter(counts);
        let largest = named.filter_map(|name| arch.number(name)).max();
        let granted = grants().filter_map(|name| arch.number(name)).max();
        if largest.is_some_and(|largest| largest > 0) && granted > largest {
            let above = arch.calls().filter(|(nr, name)| Some(*nr) > granted && counts(name));
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

fn arg(limit: &Limit, cube: Cube) -> Option<String> {
    let Limit { arg, .. } = limit;
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
    let quoted: Vec<String> = names.iter().map(|name| Quoted(name).to_string()).collect();
    let lines = wrapped(quoted.iter().map(String::as_str), WIDTH, ", ");
    let names = match lines.as_slice() {
        [line] => format!("[{line}]"),
        lines => format!("[\n        {}\n      ]", lines.join(",\n        ")),
    };
    let mut text = format!(
        "    {{\n      \"comment\": {},\n      \"names\": {names},\n      \"action\": \"{action}\"",
        Quoted(comment)
    );
    for (key, value) in more {
        let _ = write!(text, ",\n      \"{key}\": {value}");
    }
    text + "\n    }"
}
