//! The directives of a drop-in with conditions on arguments: `RestrictNamespaces=`, `RestrictAddressFamilies=`,
//! `RestrictSUIDSGID=`, `RestrictRealtime=`, `LockPersonality=` and `MemoryDenyWriteExecute=`.
//!
//! Directives that also do something without a filter, such as `ProtectClock=`, are never written.

use super::values;
use super::write_list::List;
use crate::convert::error::{ConvertError, Result};
use crate::convert::fit::Fit;
use crate::languages::Writing;
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Split};
use callgate_core::{Arch, SeccompData, Verdict, Word};

/// The directives with two values, and the syscalls on whose arguments each puts conditions.
const SWITCHES: [(&str, &[&str]); 4] = [
    (
        "RestrictSUIDSGID=yes\n",
        &[
            "chmod",
            "fchmod",
            "fchmodat",
            "fchmodat2",
            "mkdir",
            "mkdirat",
            "mknod",
            "mknodat",
            "creat",
            "open",
            "openat",
        ],
    ),
    ("RestrictRealtime=yes\n", &["sched_setscheduler"]),
    ("LockPersonality=yes\n", &["personality"]),
    ("MemoryDenyWriteExecute=yes\n", &["mmap", "mmap2", "mprotect", "pkey_mprotect", "shmat"]),
];

/// Denies `socket` on some architectures, which the list does on all or none.
const NO_FAMILY: &str = "RestrictAddressFamilies=none\n";

/// A line that does a part of what the filter does.
pub(crate) struct Restriction {
    pub(crate) line: String,
    /// What the line means.
    func: Func,
}

/// A syscall that a line restricts.
struct Restricted {
    arch: Arch,
    nr: u32,
    own: Func,
    /// The function without the line; `None` if the line denies more than the filter.
    rest: Option<Func>,
    denied: Func,
}

/// Finds the lines, and takes their parts from the filter.
pub(crate) fn take(
    fit: &mut Fit<'_>,
    list: &List,
    writing: &Writing<'_>,
) -> Result<Vec<Restriction>> {
    let mut found = Vec::new();
    if let Some(line) = namespaces(fit)? {
        // `setns` and `clone3` are denied with it, so it may deny more than the filter.
        found.extend(take_line(fit, list, writing, line, true)?);
    }
    if let Some(line) = address_families(fit)? {
        found.extend(take_line(fit, list, writing, line, false)?);
    }
    for (line, syscalls) in SWITCHES {
        if syscalls.iter().any(|name| has_condition(fit, name)) {
            found.extend(take_line(fit, list, writing, line.to_owned(), false)?);
        }
    }
    Ok(found)
}

/// Takes the part of a line from the filter; `None` if the filter has no such part.
fn take_line(
    fit: &mut Fit<'_>,
    list: &List,
    writing: &Writing<'_>,
    line: String,
    may_deny_more: bool,
) -> Result<Option<Restriction>> {
    let arches = fit.arches.clone();
    let func = (writing.read_back)(fit.store, &format!("[Service]\n{line}"), &arches)?;
    let allow = fit.store.verdict(Verdict::ALLOW)?;
    let mut all = Vec::new();
    for arch in arches {
        let numbers = fit.store.follow(func, Word::ARCH, arch.token());
        for (nr, name) in arch.syscalls() {
            let denied = fit.store.follow(numbers, Word::NR, nr);
            if denied == allow {
                continue;
            }
            let own = fit.syscall(arch.token(), nr);
            let rest = rest(fit, own, denied, list.unlisted(Some(name)))?;
            all.push(Restricted { arch, nr, own, rest, denied });
        }
    }
    let is_exact = all.iter().all(|one| one.rest.is_some());
    let has_use = |one: &Restricted| match line.as_str() {
        NO_FAMILY => one.rest.is_some_and(|rest| rest != one.own),
        _ => one.rest.is_some() && fit.store.as_verdict(one.own).is_none(),
    };
    if !all.iter().any(has_use) || !(is_exact || may_deny_more) {
        return Ok(None);
    }
    for Restricted { arch, nr, own, rest, denied } in all {
        let Some(rest) = rest else {
            let stricter = fit.store.highest_precedence(own, denied)?;
            let why = format!("{} denies more of it", line.trim_end());
            fit.replace_syscall((arch, nr), stricter, &why)?;
            continue;
        };
        let numbers = fit.numbers(arch.token());
        let numbers = fit.store.split(Word::NR, Split::Equal(nr), rest, numbers)?;
        fit.func = fit.store.split(Word::ARCH, Split::Equal(arch.token()), numbers, fit.func)?;
    }
    Ok(Some(Restriction { line, func }))
}

impl Restriction {
    /// Gives the filter its part back. The filter of `SystemCallFilter=` is a later one, so its errno counts.
    pub(crate) fn restore(&self, fit: &mut Fit<'_>) -> Result<()> {
        fit.func = fit.store.highest_precedence(fit.func, self.func)?;
        Ok(())
    }
}

/// Whether an architecture has a condition on the arguments of a syscall.
fn has_condition(fit: &Fit<'_>, name: &str) -> bool {
    let mut numbers = fit.arches.iter().filter_map(|arch| Some((arch.token(), arch.number(name)?)));
    numbers.any(|(token, nr)| fit.store.as_verdict(fit.syscall(token, nr)).is_none())
}

/// Whether a syscall has the same function on all architectures.
fn is_same_on_all(fit: &Fit<'_>, name: &str) -> bool {
    let numbers = fit.arches.iter().filter_map(|arch| Some((arch.token(), arch.number(name)?)));
    let mut all = numbers.map(|(token, nr)| fit.syscall(token, nr));
    let first = all.next();
    all.all(|func| Some(func) == first)
}

/// The line that restricts the namespaces which the filter denies to the main architecture.
fn namespaces(fit: &mut Fit<'_>) -> Result<Option<String>> {
    let Some(arch) = fit.arches.first().copied() else { return Ok(None) };
    let mut retained = Vec::new();
    for (name, flag) in values::namespaces() {
        if !denies_namespace(fit, arch, flag)? {
            retained.push(name);
        }
    }
    Ok(match retained.len() {
        0 => Some("RestrictNamespaces=yes\n".to_owned()),
        len if len == values::namespaces().count() => None,
        _ => Some(format!("RestrictNamespaces={}\n", retained.join(" "))),
    })
}

/// Whether a flag of `clone` or `unshare` is denied, but not the syscall without flags.
fn denies_namespace(fit: &Fit<'_>, arch: Arch, flag: u64) -> Result<bool> {
    for (name, arg) in [("clone", flags_of_clone(arch)), ("unshare", 0)] {
        let without = verdict(fit, arch, name, arg, 0)?;
        let with = verdict(fit, arch, name, arg, flag)?;
        if without.is_some_and(Verdict::permits) && !with.is_some_and(Verdict::permits) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn flags_of_clone(arch: Arch) -> usize {
    usize::from(matches!(arch, Arch::S390 | Arch::S390x))
}

/// The line that restricts `socket` to the address families which the filter permits on the main architecture, or denies
/// those that it denies.
fn address_families(fit: &mut Fit<'_>) -> Result<Option<String>> {
    let Some(arch) = fit.arches.first().copied() else { return Ok(None) };
    if !has_condition(fit, "socket") && is_same_on_all(fit, "socket") {
        return Ok(None);
    }
    let permits = |family: u16| {
        let found = verdict(fit, arch, "socket", 0, family.into())?;
        Ok::<_, ConvertError>(found.is_some_and(Verdict::permits))
    };
    let denies_listed = permits(values::family_end())?;
    let mut listed: Vec<&str> = Vec::new();
    let mut last = None;
    for (name, family) in values::families() {
        // The first of several names.
        if last.replace(family) != Some(family) && permits(family)? != denies_listed {
            listed.push(name);
        }
    }
    let sign = if denies_listed { "~" } else { "" };
    Ok(match listed.is_empty() {
        false => Some(format!("RestrictAddressFamilies={sign}{}\n", listed.join(" "))),
        true if denies_listed => None,
        true => Some(NO_FAMILY.to_owned()),
    })
}

/// The verdict of a syscall with a value for one argument and 0 for the others; `None` if the architecture does not have it.
fn verdict(
    fit: &Fit<'_>,
    arch: Arch,
    name: &str,
    arg: usize,
    value: u64,
) -> Result<Option<Verdict>> {
    let Some(nr) = arch.number(name) else { return Ok(None) };
    let mut data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
    if let Some(arg) = data.args.get_mut(arg) {
        *arg = value;
    }
    Ok(Some(fit.store.evaluate(fit.func, &data)?))
}

/// The verdict of a syscall without the line, if there is one with which the line makes all of its function.
fn rest(fit: &mut Fit<'_>, own: Func, denied: Func, unlisted: Verdict) -> Result<Option<Func>> {
    // A syscall that is not in the list needs no word. Otherwise the list allows it, and the line denies the rest.
    let candidates = [unlisted, Verdict::ALLOW].into_iter().chain(fit.store.verdicts(own));
    for verdict in candidates {
        let one = fit.store.verdict(verdict)?;
        if fit.store.highest_precedence(one, denied)? == own {
            return Ok(Some(one));
        }
    }
    Ok(None)
}
