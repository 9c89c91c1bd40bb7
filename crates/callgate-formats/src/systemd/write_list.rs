//! Lists of `SystemCallFilter=`, and the verdicts that they can give.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::comparisons::Rules;
use crate::convert::error::{MULTIPLEXED, Result};
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
pub(crate) fn of_name(fit: &mut Fit<'_>, name: &'static str, list: &List) -> Result<Verdict> {
    let numbers = fit.numbers_of(name);
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

// `socketcall` and `ipc` in systemd lists. libseccomp adds the rules for the syscalls behind them to both, unless they are
// in the list themselves.

/// The verdicts of names, while those of the multiplexers are found.
pub(crate) struct Verdicts<'f, 's> {
    pub(crate) fit: &'f mut Fit<'s>,
    pub(crate) list: &'f List,
    pub(crate) of_names: BTreeMap<&'static str, Verdict>,
}

impl Verdicts<'_, '_> {
    /// Adds the syscalls that only a multiplexer reaches, such as `send` on x86: groups contain them, so a list with a group
    /// says something about `socketcall`.
    pub(crate) fn add_sub_calls(&mut self) -> Result<()> {
        for name in known_names() {
            let calls = self.fit.arches.iter().filter_map(|arch| {
                let (own, call) = arch.multiplexed(name)?;
                let args = [call.into(), 0, 0, 0, 0, 0];
                let nr = arch.number(own)?;
                Some(SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() })
            });
            let calls: Vec<SeccompData> = calls.collect();
            if calls.is_empty() || self.of_names.contains_key(name) {
                continue;
            }
            let mut wanted = Vec::new();
            for data in calls {
                wanted.push(self.fit.store.evaluate(self.fit.func, &data)?);
            }
            let (wanted, unlisted) = (strictest(wanted), self.list.unlisted(Some(name)));
            let needs_word = wanted.permits() || unlisted.permits();
            let verdict = if needs_word { self.list.nearest(name, wanted) } else { unlisted };
            self.of_names.insert(name, verdict);
        }
        Ok(())
    }

    /// Adds the multiplexers to the verdicts of all other names.
    pub(crate) fn add_multiplexers(&mut self) -> Result<()> {
        for name in MULTIPLEXERS {
            let numbers = self.fit.numbers_of(name);
            if numbers.is_empty() {
                continue;
            }
            let mut verdict = self.list.unlisted(Some(name));
            let mut is_exact = true;
            for (arch, nr) in &numbers {
                let wanted = self.fit.syscall(arch.token(), *nr);
                is_exact &= self.written((*arch, *nr), name, verdict)? == wanted;
            }
            if !is_exact {
                verdict = of_name(self.fit, name, self.list)?;
                for number in numbers {
                    self.fit_multiplexer(number, name, verdict)?;
                }
            }
            self.of_names.insert(name, verdict);
        }
        Ok(())
    }

    /// Makes a filter as strict as what systemd does with a multiplexer of this verdict. If that permits more, the syscalls
    /// behind it are denied.
    fn fit_multiplexer(
        &mut self,
        (arch, nr): (Arch, u32),
        name: &'static str,
        verdict: Verdict,
    ) -> Result<()> {
        let wanted = self.fit.syscall(arch.token(), nr);
        let mut all = self.written((arch, nr), name, verdict)?;
        if laxer(self.fit.store, wanted, all)?.is_some() {
            let is_behind = |own: &str| arch.multiplexed(own).is_some_and(|(own, _)| own == name);
            let permitted =
                self.of_names.iter().filter(|(own, one)| is_behind(own) && one.permits());
            for own in permitted.map(|(own, _)| *own).collect::<Vec<_>>() {
                let unlisted = self.list.unlisted(Some(own));
                let denied = if unlisted.permits() { self.list.denied } else { unlisted };
                for (other, nr) in self.fit.numbers_of(own) {
                    self.fit.replace_numbers(other.token(), (nr, nr), denied, MULTIPLEXED)?;
                }
                self.of_names.insert(own, denied);
            }
            all = self.written((arch, nr), name, verdict)?;
        }
        if all != wanted {
            self.fit.replace_syscall((arch, nr), all, MULTIPLEXED)?;
        }
        Ok(())
    }

    /// What systemd does with a multiplexer of this verdict: `SystemCallFilter=` and `SystemCallLog=` are two filters.
    fn written(&mut self, number: (Arch, u32), name: &str, verdict: Verdict) -> Result<Func> {
        let default = if self.list.allows { self.list.unknown } else { Verdict::ALLOW };
        let permitted = |verdict| if verdict == Verdict::LOG { Verdict::ALLOW } else { verdict };
        let logged = |verdict| if verdict == Verdict::LOG { verdict } else { Verdict::ALLOW };
        let filtered = self.one(number, name, permitted(verdict), default, permitted)?;
        let audited = self.one(number, name, logged(verdict), Verdict::ALLOW, logged)?;
        Ok(self.fit.store.highest_precedence(filtered, audited)?)
    }

    /// What one filter does with a multiplexer of this verdict, with these verdicts of names.
    fn one(
        &mut self,
        number: (Arch, u32),
        name: &str,
        verdict: Verdict,
        default: Verdict,
        in_filter: impl Fn(Verdict) -> Verdict,
    ) -> Result<Func> {
        // A rule without conditions for the multiplexer itself decides.
        if verdict != default {
            return Ok(self.fit.store.verdict(verdict)?);
        }
        let is_behind = |own: &str| number.0.multiplexed(own).is_some_and(|(own, _)| own == name);
        let names = self.of_names.iter().filter(|(own, _)| is_behind(own));
        let rules: Vec<(&str, Rules)> =
            names.map(|(own, verdict)| (*own, vec![(in_filter(*verdict), Vec::new())])).collect();
        behind(self.fit, number, rules.iter().map(|(own, rules)| (*own, rules)), default)
    }
}
