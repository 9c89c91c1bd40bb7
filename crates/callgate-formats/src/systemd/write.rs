//! Units of systemd: a drop-in with `SystemCallFilter=`, and the directives that belong to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::text::{Words, errno_text, lines, names_of, words};
use super::write_list::{List, Verdicts, of_name};
use super::{SystemdVersion, build_arches, known_names, write_restrictions as restrictions};
use crate::convert::error::{ConvertError, Result};
use crate::convert::fit::Fit;
use crate::convert::named_rules::is_multiplexer;
use crate::convert::numbering::unnamed;
use crate::languages::Writing;
use callgate_bpf::SyscallTable;
use callgate_codegen::query::Interval;
use callgate_core::{Action, Arch, Verdict, X32_SYSCALL_BIT};

/// Writes a drop-in.
pub(crate) fn write(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String> {
    let main = fit.arches.first().copied().unwrap_or(Arch::X86_64);
    let local = build_arches(main, writing.systemd);
    if local.is_empty() {
        let why = format!("systemd installs no filters on {main}");
        return Err(ConvertError::unsupported(why));
    }
    fit_arches(fit, &local)?;
    let list = choose(fit, main, writing.systemd)?;
    let restrictions = restrictions::take(fit, &list, writing)?;
    for one in unnamed(fit)? {
        let why = "systemd names syscalls, and decides itself about numbers that it does not know";
        for (first, last) in own_numbers(fit, one.token, one.first, one.last) {
            fit.replace_numbers(one.token, (first, last), list.unlisted(None), why)?;
        }
    }
    let names: BTreeSet<&'static str> =
        fit.arches.iter().flat_map(|arch| arch.syscalls().map(|(_, name)| name)).collect();
    let mut verdicts = BTreeMap::new();
    for name in names.into_iter().filter(|name| !is_multiplexer(name)) {
        let verdict = of_name(fit, name, &list)?;
        if name == "write" && verdict != Verdict::ALLOW && writing.systemd.permits_write() {
            let why = format!(
                "systemd {} always allows write, which it needs itself; the filter does not",
                writing.systemd
            );
            if writing.closest {
                return Err(ConvertError::unsupported(why));
            }
            fit.note_syscall(name, Verdict::ALLOW, &why)?;
        }
        verdicts.insert(name, verdict);
    }
    let mut all = Verdicts { fit, list: &list, of_names: verdicts };
    all.add_sub_calls()?;
    all.add_multiplexers()?;
    let verdicts = all.of_names;
    let mut text = text(fit, &local, &list, &verdicts, writing.systemd);
    for restriction in restrictions {
        text.push_str(&restriction.line);
        restriction.restore(fit)?;
    }
    Ok(text)
}

/// Fits the architectures: systemd denies those of its build that are not listed, and allows all others.
fn fit_arches(fit: &mut Fit<'_>, local: &[Arch]) -> Result<()> {
    // One that the filter denies as systemd denies those that are not listed is not listed.
    let mut listed = Vec::new();
    for arch in fit.arches.iter().copied().filter(|arch| local.contains(arch)) {
        if listed.is_empty() || !is_killed(fit, arch)? {
            listed.push(arch);
        }
    }
    // If `SystemCallFilter=` denies no syscall, architectures that the filter allows completely can be listed, too.
    if permits_some_of_each(fit, &listed)? {
        let allow = fit.store.verdict(Verdict::ALLOW)?;
        let allowed = local.iter().copied().filter(|arch| fit.numbers(arch.token()) == allow);
        listed.extend(allowed.filter(|arch| !listed.contains(arch)).collect::<Vec<_>>());
    }
    fit.arches = listed;
    if local.iter().all(|arch| fit.arches.contains(arch)) {
        let why = "systemd allows the syscalls of architectures that its build does not know";
        return fit.set_others(Verdict::ALLOW, why);
    }
    let why = "systemd denies syscalls of other architectures with KILL_THREAD";
    fit.set_others(Verdict::KILL_THREAD, why)?;
    let other = match (fit.arches.contains(&Arch::X86_64), fit.arches.contains(&Arch::X32)) {
        (true, false) => (X32_SYSCALL_BIT, u32::MAX - 1),
        (false, true) => (0, X32_SYSCALL_BIT - 1),
        _ => return Ok(()),
    };
    fit.replace_numbers(Arch::X86_64.token(), other, Verdict::KILL_THREAD, why)
}

/// Whether each syscall of these architectures is allowed, at least with some arguments; but for `socket`, which
/// `RestrictAddressFamilies=none` denies.
fn permits_some_of_each(fit: &Fit<'_>, arches: &[Arch]) -> Result<bool> {
    for arch in arches {
        let is_permitted = |one: &Interval| {
            let name = Arch::of_syscall(arch.token(), one.first)
                .and_then(|abi| abi.syscall_name(one.first));
            let is_socket = one.first == one.last && name == Some("socket");
            is_socket || fit.store.verdicts(one.then).contains(&Verdict::ALLOW)
        };
        if !fit.intervals(arch.token())?.iter().all(is_permitted) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether all syscalls of an architecture kill the thread.
fn is_killed(fit: &Fit<'_>, arch: Arch) -> Result<bool> {
    let (start, end) = match arch {
        Arch::X86_64 => (0, X32_SYSCALL_BIT - 1),
        Arch::X32 => (X32_SYSCALL_BIT, u32::MAX - 1),
        _ => (0, u32::MAX),
    };
    let intervals = fit.intervals(arch.token())?;
    let mut own = intervals.iter().filter(|one| one.first <= end && start <= one.last);
    Ok(own.all(|one| fit.store.as_verdict(one.then) == Some(Verdict::KILL_THREAD)))
}

/// The numbers of a range that belong to the ABIs of the filter; others are denied with their architecture.
fn own_numbers(fit: &Fit<'_>, token: u32, first: u32, last: u32) -> Vec<(u32, u32)> {
    let has = |arch| fit.arches.contains(&arch);
    let own = match (has(Arch::X86_64), has(Arch::X32)) {
        (true, false) if token == Arch::X86_64.token() => {
            vec![(0, X32_SYSCALL_BIT - 1), (u32::MAX, u32::MAX)]
        }
        (false, true) if token == Arch::X32.token() => vec![(X32_SYSCALL_BIT, u32::MAX)],
        _ => vec![(0, u32::MAX)],
    };
    let clipped = own.into_iter().map(|(from, to)| (from.max(first), to.min(last)));
    clipped.filter(|(first, last)| first <= last).collect()
}

/// What kind of list is the nearest.
fn choose(fit: &Fit<'_>, main: Arch, version: SystemdVersion) -> Result<List> {
    let mut allows = false;
    for one in unnamed(fit)? {
        let is_own = !own_numbers(fit, one.token, one.first, one.last).is_empty();
        let is_allowed = fit.store.as_verdict(one.func) == Some(Verdict::ALLOW);
        allows |= is_own && !is_allowed;
    }
    let known: BTreeSet<&'static str> =
        known_names(version).filter(|name| main.number(name).is_some()).collect();
    let enosys = Verdict::errno(main.enosys());
    let mut list = List { allows, denied: Verdict::KILL_PROCESS, unknown: enosys, known };
    // The most frequent denial.
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for (nr, _) in main.syscalls().filter(|(_, name)| !allows || list.known.contains(name)) {
        let verdict = fit.strictest(fit.syscall(main.token(), nr));
        // SystemCallErrorNumber= cannot be 0; entries of the list can have this errno.
        if verdict.permits() || verdict == Verdict::errno(0) {
            continue;
        }
        let can_deny = list.can_deny_with(verdict) || verdict == enosys;
        let denied = if can_deny { verdict } else { Verdict::KILL_PROCESS };
        *counts.entry(denied).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(verdict, count)| (**count, verdict.precedence()));
    if let Some((verdict, _)) = most {
        list.denied = *verdict;
    }
    if !version.has_enosys_for_unknown() {
        list.unknown = list.denied;
    }
    Ok(list)
}

fn text(
    fit: &Fit<'_>,
    local: &[Arch],
    list: &List,
    verdicts: &BTreeMap<&'static str, Verdict>,
    version: SystemdVersion,
) -> String {
    let mut text = String::from("[Service]\n");
    let main = fit.arches.first().copied().unwrap_or(Arch::X86_64);
    if !local.iter().all(|arch| fit.arches.contains(arch)) {
        let others = names_of(&fit.arches);
        let names: Vec<&str> = std::iter::once("native").chain(others.skip(1)).collect();
        let _ = writeln!(text, "SystemCallArchitectures={}", names.join(" "));
    }
    if let Action::Errno(errno) = list.denied.action() {
        let _ = writeln!(text, "SystemCallErrorNumber={}", errno_text(errno, main));
    }
    let permitted: BTreeSet<&str> =
        verdicts.iter().filter(|(_, verdict)| verdict.permits()).map(|(name, _)| *name).collect();
    let listed: BTreeSet<&str> = match list.allows {
        true => permitted,
        false => verdicts.keys().copied().filter(|name| !permitted.contains(name)).collect(),
    };
    let others: BTreeSet<&str> =
        verdicts.keys().copied().filter(|name| !listed.contains(name)).collect();
    let Words { add, remove } = words(&listed, &others, list.allows, version);
    let (add_sign, remove_sign) = if list.allows { ("", "~") } else { ("~", "") };
    lines(&mut text, "SystemCallFilter=", add_sign, add.iter().map(String::as_str));
    lines(&mut text, "SystemCallFilter=", remove_sign, remove.iter().map(String::as_str));
    let mut own: Vec<String> = Vec::new();
    for (name, verdict) in verdicts {
        let is_listed = !list.allows && *verdict == list.denied;
        if !verdict.permits() && *verdict != list.unlisted(Some(name)) && !is_listed {
            let action = match verdict.action() {
                Action::Errno(errno) => errno_text(errno, main),
                _ => "kill".to_owned(),
            };
            own.push(format!("{name}:{action}"));
        }
    }
    lines(&mut text, "SystemCallFilter=", "~", own.iter().map(String::as_str));
    let logged = verdicts.iter().filter(|(_, verdict)| **verdict == Verdict::LOG);
    let logged: Vec<String> = logged.map(|(name, _)| (*name).to_owned()).collect();
    lines(&mut text, "SystemCallLog=", "", logged.iter().map(String::as_str));
    text
}
