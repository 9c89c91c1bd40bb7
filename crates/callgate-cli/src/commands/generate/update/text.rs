//! What was added to a profile, as text and as JSON.

use std::fmt::Write;

use callgate_formats::change::{Allowed, SideEffect};
use callgate_requests::json::Json;
use callgate_trace::recording::Recording;

use super::search::Update;
use crate::commands::why::call;
use crate::output::wrap;
use crate::text::{counted, printable};

pub(super) fn text(update: &Update, recording: &Recording) -> String {
    let name = printable(&update.name);
    let recorded = recorded(update, recording);
    let mut text = String::new();
    if update.allowed.is_empty() {
        wrap(&mut text, &format!("{name} allows {recorded}: nothing is added"), 0, 2);
        return text;
    }
    for allowed in &update.allowed {
        let _ = write!(text, "{:<16}", "added");
        wrap(&mut text, &added(allowed), 16, 16);
    }
    let _ = write!(text, "{:<16}", "proved");
    let proved = format!("{name} then allows {recorded}, and otherwise permits the same as before");
    wrap(&mut text, &proved, 16, 16);
    let verified = update.verified.as_ref();
    if let Some(SideEffect { data, .. }) = verified.and_then(|one| one.multiplexed.as_ref()) {
        let _ = write!(text, "{:<16}", "also allowed");
        let allowed = format!("{}, where a filter cannot see the arguments", call(data));
        wrap(&mut text, &allowed, 16, 16);
    }
    if let Some(SideEffect { data, before, after }) =
        verified.and_then(|one| one.side_effect.as_ref())
    {
        let _ = write!(text, "{:<16}", "also changed");
        let changed =
            format!("{} is still denied, but gets {after} instead of {before}", call(data));
        wrap(&mut text, &changed, 16, 16);
    }
    text
}

/// What the profile allows of the recording: `all 4 recorded syscalls`, or `31 of 32 recorded syscalls; …`.
fn recorded(update: &Update, recording: &Recording) -> String {
    let all = recording.syscalls().len();
    let denied = update.falling_back.len() + update.deadly.len();
    if denied == 0 {
        return match all {
            1 => "the recorded syscall".to_owned(),
            more => format!("all {}", counted(more as u64, "recorded syscall")),
        };
    }
    let mut text =
        format!("{} of {}", all.saturating_sub(denied), counted(all as u64, "recorded syscall"));
    // On several architectures, it is the same syscall.
    let mut more: Vec<String> = Vec::new();
    for (syscall, fallback) in &update.falling_back {
        let name = syscall.name().unwrap_or_default();
        more.push(format!("{name} fails with ENOSYS, {fallback} is used"));
    }
    for syscall in &update.deadly {
        more.push(format!("{} is still denied", syscall.name().unwrap_or_default()));
    }
    more.dedup();
    let _ = write!(text, " ({})", more.join("; "));
    text
}

/// `socket, only with family == AF_NETLINK`.
fn added(allowed: &Allowed) -> String {
    match allowed.condition() {
        Some(condition) => format!("{} on {}, only with {condition}", allowed.name, allowed.arch),
        None => format!("{} on {}", allowed.name, allowed.arch),
    }
}

pub(super) fn json(update: &Update, recording: &Recording) -> String {
    let added = update.allowed.iter().map(|allowed| {
        Json::Object(vec![
            ("arch", allowed.arch.name().into()),
            ("call", allowed.name.as_str().into()),
            ("condition", allowed.condition().into()),
        ])
    });
    let multiplexed = update.verified.as_ref().and_then(|one| one.multiplexed.as_ref());
    let changed = update.verified.as_ref().and_then(|one| one.side_effect.as_ref()).map(
        |SideEffect { data, before, after }| {
            Json::Object(vec![
                ("call", call(data).into()),
                ("before", before.to_string().into()),
                ("after", after.to_string().into()),
            ])
        },
    );
    let unlimited = update.unlimited.iter().map(|(arch, name, arg)| {
        Json::Object(vec![
            ("arch", arch.name().into()),
            ("call", (*name).into()),
            ("arg", u64::from(*arg).into()),
        ])
    });
    let fallbacks = update.falling_back.iter().map(|(syscall, fallback)| {
        Json::Object(vec![
            ("arch", syscall.arch.name().into()),
            ("call", syscall.name().into()),
            ("fallback", (*fallback).into()),
        ])
    });
    let denied = update.deadly.iter().map(|syscall| {
        Json::Object(vec![("arch", syscall.arch.name().into()), ("call", syscall.name().into())])
    });
    let value = Json::Object(vec![
        ("source", update.name.as_str().into()),
        ("calls", recording.syscalls().len().into()),
        ("added", Json::array(added)),
        ("fallbacks", Json::array(fallbacks)),
        ("denied", Json::array(denied)),
        ("unlimited", Json::array(unlimited)),
        ("multiplexed", multiplexed.map(|effect| call(&effect.data)).into()),
        ("also_changed", changed.into()),
        ("dangerous", update.dangers.json()),
        ("lint", update.dangers.lint_json()),
        ("patch", update.patch.as_str().into()),
    ]);
    format!("{value}\n")
}
