//! Lists of `SystemCallFilter=`, and the verdicts that they can give.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::comparisons::Rules;
use crate::convert::error::{ConvertError, MULTIPLEXED};
use crate::convert::fit::{Fit, laxer, strictest};
use crate::convert::named_rules::{MULTIPLEXERS, behind};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_names;
use callgate_core::diagram::Func;
use callgate_core::{Action, Arch, SeccompData, Verdict};

/// The largest errno that libseccomp accepts.
const MAX_ERRNO: u16 = 4094;

/// Lists with two verdicts for syscalls that they do not contain.
pub(crate) struct List {
    /// Whether it lists what is allowed.
    pub(crate) allows: bool,
    /// The verdict of denied syscalls without a verdict of their own.
    pub(crate) denied: Verdict,
    /// The verdict of numbers that systemd does not know: since version 255 ENOSYS.
    pub(crate) unknown: Verdict,
    /// The names that systemd knows and the main architecture has.
    pub(crate) known: BTreeSet<&'static str>,
}

impl List {
    /// The verdict of a syscall that is not in the list.
    pub(crate) fn unlisted(&self, name: Option<&str>) -> Verdict {
        match name {
            _ if !self.allows => Verdict::ALLOW,
            Some(name) if self.known.contains(name) => self.denied,
            _ => self.unknown,
        }
    }

    /// The nearest verdict that a name can have, and that permits no more.
    pub(crate) fn nearest(&self, name: &str, wanted: Verdict) -> Verdict {
        let unlisted = self.unlisted(Some(name));
        match wanted {
            Verdict::ALLOW | Verdict::LOG => wanted,
            own if own == unlisted || self.can_deny_with(own) => own,
            _ if unlisted.permits() => self.denied,
            _ => unlisted,
        }
    }

    /// Whether an entry of the list can have this verdict.
    pub(crate) fn can_deny_with(&self, verdict: Verdict) -> bool {
        let is_denial = match verdict.action() {
            Action::Errno(errno) => errno <= MAX_ERRNO,
            Action::KillProcess => verdict == Verdict::KILL_PROCESS,
            _ => false,
        };
        // libseccomp rejects a rule with the verdict of all other syscalls.
        is_denial && verdict != if self.allows { self.unknown } else { Verdict::ALLOW }
    }
}

/// The verdict of a name on all architectures.
pub(crate) fn of_name(
    fit: &mut Fit<'_>,
    name: &'static str,
    list: &List,
) -> Result<Verdict, ConvertError> {
    let numbers: Vec<(Arch, u32)> =
        fit.arches.iter().filter_map(|arch| Some((*arch, arch.number(name)?))).collect();
    let all: Vec<_> = numbers.iter().map(|(arch, nr)| fit.syscall(arch.token(), *nr)).collect();
    let wanted = strictest(all.iter().map(|func| fit.strictest(*func)));
    let verdict = list.nearest(name, wanted);
    let is_conditional = all.iter().any(|func| fit.store.as_verdict(*func).is_none());
    let why = match () {
        () if is_conditional => "SystemCallFilter= has no conditions on arguments",
        () if verdict != wanted => "SystemCallFilter= cannot deny these syscalls with this action",
        () => "SystemCallFilter= is the same for all architectures",
    };
    for (arch, nr) in numbers {
        fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
    }
    Ok(verdict)
}

// `socketcall` and `ipc` in lists of systemd. libseccomp adds the rules for the syscalls behind them to both, unless they are
// in the list themselves.

/// The verdicts of names.
type Verdicts = BTreeMap<&'static str, Verdict>;

/// Adds the syscalls that only a multiplexer reaches, such as `send` on x86: groups contain them, so a list with a group says
/// something about `socketcall`.
pub(crate) fn add_sub_calls(
    fit: &Fit<'_>,
    list: &List,
    verdicts: &mut Verdicts,
) -> Result<(), ConvertError> {
    for name in known_names() {
        let calls = fit.arches.iter().filter_map(|arch| {
            let (own, call) = arch.multiplexed(name)?;
            Some(SeccompData {
                nr: arch.number(own)?,
                arch: arch.token(),
                args: [call.into(), 0, 0, 0, 0, 0],
                ..SeccompData::default()
            })
        });
        let calls: Vec<SeccompData> = calls.collect();
        if calls.is_empty() || verdicts.contains_key(name) {
            continue;
        }
        let mut wanted = Vec::new();
        for data in calls {
            wanted.push(fit.store.evaluate(fit.func, &data)?);
        }
        let (wanted, unlisted) = (strictest(wanted), list.unlisted(Some(name)));
        let needs_word = wanted.permits() || unlisted.permits();
        verdicts.insert(name, if needs_word { list.nearest(name, wanted) } else { unlisted });
    }
    Ok(())
}

/// Adds the multiplexers to the verdicts of all other names.
pub(crate) fn fit_multiplexers(
    fit: &mut Fit<'_>,
    list: &List,
    verdicts: &mut Verdicts,
) -> Result<(), ConvertError> {
    for name in MULTIPLEXERS {
        let arches = fit.arches.iter();
        let numbers: Vec<(Arch, u32)> =
            arches.filter_map(|arch| Some((*arch, arch.number(name)?))).collect();
        if numbers.is_empty() {
            continue;
        }
        let mut verdict = list.unlisted(Some(name));
        let mut is_exact = true;
        for (arch, nr) in &numbers {
            let wanted = fit.syscall(arch.token(), *nr);
            is_exact &= written(fit, (*arch, *nr), name, verdict, list, verdicts)? == wanted;
        }
        if !is_exact {
            verdict = of_name(fit, name, list)?;
            for number in numbers {
                fit_multiplexer(fit, number, name, verdict, list, verdicts)?;
            }
        }
        verdicts.insert(name, verdict);
    }
    Ok(())
}

/// Makes a filter as strict as what systemd does with a multiplexer of this verdict. If that permits more, the syscalls behind
/// it are denied.
fn fit_multiplexer(
    fit: &mut Fit<'_>,
    (arch, nr): (Arch, u32),
    name: &'static str,
    verdict: Verdict,
    list: &List,
    verdicts: &mut Verdicts,
) -> Result<(), ConvertError> {
    let wanted = fit.syscall(arch.token(), nr);
    let mut all = written(fit, (arch, nr), name, verdict, list, verdicts)?;
    if laxer(fit.store, wanted, all)?.is_some() {
        let is_behind = |own: &&str| arch.multiplexed(own).is_some_and(|(own, _)| own == name);
        let permitted: Vec<&'static str> = verdicts
            .keys()
            .copied()
            .filter(is_behind)
            .filter(|own| permits(verdicts, own))
            .collect();
        for own in permitted {
            let unlisted = list.unlisted(Some(own));
            let denied = if unlisted.permits() { list.denied } else { unlisted };
            for other in fit.arches.clone() {
                if let Some(nr) = other.number(own) {
                    fit.replace_numbers(other.token(), (nr, nr), denied, MULTIPLEXED)?;
                }
            }
            verdicts.insert(own, denied);
        }
        all = written(fit, (arch, nr), name, verdict, list, verdicts)?;
    }
    if all != wanted {
        fit.replace_syscall((arch, nr), all, MULTIPLEXED)?;
    }
    Ok(())
}

fn permits(verdicts: &Verdicts, name: &str) -> bool {
    verdicts.get(name).is_some_and(|verdict| verdict.permits())
}

/// What systemd does with a multiplexer of this verdict: `SystemCallFilter=` and `SystemCallLog=` are two filters.
fn written(
    fit: &mut Fit<'_>,
    number: (Arch, u32),
    name: &str,
    verdict: Verdict,
    list: &List,
    verdicts: &Verdicts,
) -> Result<Func, ConvertError> {
    let default = if list.allows { list.unknown } else { Verdict::ALLOW };
    let permitted = |verdict| if verdict == Verdict::LOG { Verdict::ALLOW } else { verdict };
    let logged = |verdict| if verdict == Verdict::LOG { verdict } else { Verdict::ALLOW };
    let filtered = one(fit, number, name, verdict, default, verdicts, permitted)?;
    let audited = one(fit, number, name, verdict, Verdict::ALLOW, verdicts, logged)?;
    Ok(fit.store.highest_precedence(filtered, audited)?)
}

/// What one filter does with a multiplexer, with these verdicts of names.
fn one(
    fit: &mut Fit<'_>,
    number: (Arch, u32),
    name: &str,
    verdict: Verdict,
    default: Verdict,
    verdicts: &Verdicts,
    in_filter: impl Fn(Verdict) -> Verdict,
) -> Result<Func, ConvertError> {
    // A rule without conditions for the multiplexer itself decides.
    if in_filter(verdict) != default {
        return Ok(fit.store.verdict(in_filter(verdict))?);
    }
    let is_behind = |own: &str| number.0.multiplexed(own).is_some_and(|(own, _)| own == name);
    let names = verdicts.iter().filter(|(own, _)| is_behind(own));
    let rules: Vec<(&str, Rules)> =
        names.map(|(own, verdict)| (*own, vec![(in_filter(*verdict), Vec::new())])).collect();
    behind(fit, number, rules.iter().map(|(own, rules)| (*own, rules)), default)
}
