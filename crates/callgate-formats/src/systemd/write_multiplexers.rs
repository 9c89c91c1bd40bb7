//! `socketcall` and `ipc` in lists of systemd. libseccomp adds the rules for the syscalls behind them to both, unless they are
//! in the list themselves.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use super::write_list::{List, of_name};
use crate::convert::comparisons::Rules;
use crate::convert::error::ConvertError;
use crate::convert::fit::Fit;
use crate::convert::loss::MULTIPLEXED;
use crate::convert::multiplexers::{MULTIPLEXERS, behind};
use crate::convert::strictness::{laxer, strictest};
use callgate_bpf::syscalls::known_names;
use callgate_core::diagram::Func;
use callgate_core::{Arch, SeccompData, Verdict};

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
