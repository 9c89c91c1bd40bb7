//! Syscall numbers without an entry: the default action, and the ENOSYS check of runc.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{ConvertError, NUMBERS_ABOVE_FAIL, Result};
use super::fit::{Fit, is_as_strict, strictest};
use crate::oci::BAD_ARCH;
use callgate_bpf::SyscallTable;
use callgate_core::diagram::Func;
use callgate_core::{Action, Arch, Verdict, X32_SYSCALL_BIT};

/// A denial that all languages with errnos can say.
pub(crate) const DENIAL: Verdict = Verdict::errno(1);

/// How a language treats numbers without an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unlisted {
    /// Why numbers without a name get the default action.
    pub(crate) why: &'static str,
    /// Whether numbers above the largest named one fail with ENOSYS.
    pub(crate) enosys_above: bool,
    /// Whether numbers of x32 are killed in filters of x86-64 only, and vice versa, as libseccomp does.
    pub(crate) kills_other_abi: bool,
    /// Whether a verdict can be the default action.
    pub(crate) can_be_default: fn(Verdict) -> bool,
    /// Default actions of filters whose own cannot be one.
    pub(crate) fallbacks: &'static [Verdict],
    /// Whether all ENOSYS of named syscalls gets an entry, because not all runtimes let numbers above the largest named one
    /// fail with it, and the default action cannot.
    pub(crate) may_lack_enosys: bool,
}

/// What happens to numbers without an entry.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    /// The default action.
    pub(crate) default: Verdict,
    /// Per architecture the largest named number, above which numbers fail with ENOSYS; empty without the check.
    pub(crate) bounds: Vec<(Arch, u32)>,
    language: Unlisted,
    arches: Vec<Arch>,
    /// Per token the verdicts of numbers without an entry, as ranges.
    expected: BTreeMap<u32, Vec<(u32, u32, Verdict)>>,
}

/// Consecutive numbers of a token without a name, and their function.
pub(crate) struct Unnamed {
    pub(crate) token: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) func: Func,
}

impl Numbering {
    /// The default action with which the fewest numbers without a name change, and none gets laxer. An errno that becomes a kill
    /// counts twice.
    pub(crate) fn choose(fit: &Fit<'_>, language: Unlisted) -> Result<Numbering> {
        let unnamed = unnamed(fit)?;
        let mut candidates: BTreeSet<Verdict> =
            unnamed.iter().filter_map(|one| fit.store.as_verdict(one.func)).collect();
        let all = unnamed.iter().flat_map(|one| fit.store.verdicts(one.func));
        let strictest = strictest(all);
        candidates.insert(strictest);
        candidates.retain(|verdict| (language.can_be_default)(*verdict));
        candidates.extend(language.fallbacks);
        let mut best: Option<((bool, u64, usize), Numbering)> = None;
        for default in candidates {
            let numbering = Numbering::with_default(fit, default, language)?;
            let (mut changed, mut killed, mut is_lax) = (0, 0, false);
            for one in &unnamed {
                for (first, last, verdict) in numbering.expected_in(one.token, one.first, one.last)
                {
                    if fit.store.as_verdict(one.func) != Some(verdict) {
                        changed += u64::from(last - first) + 1;
                        let old = fit.store.verdicts(one.func);
                        is_lax |= old.into_iter().any(|old| !is_as_strict(verdict, old));
                    }
                }
                let fails = matches!(
                    fit.store.as_verdict(one.func).map(Verdict::action),
                    Some(Action::Errno(_))
                );
                if fails && is_kill(default) {
                    killed += numbering.left_to_default(one);
                }
            }
            // What is exact is never worse than something else.
            if changed == 0 {
                killed = 0;
            }
            let named = fit
                .arches
                .iter()
                .flat_map(|arch| arch.syscalls().map(|(nr, _)| fit.syscall(arch.token(), nr)));
            let entries = named.filter(|func| fit.store.as_verdict(*func) != Some(default)).count();
            let cost = (is_lax, changed + killed, entries);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, numbering));
            }
        }
        best.map(|(_, numbering)| numbering)
            .ok_or_else(|| ConvertError::defect("a filter has a verdict for some number"))
    }

    fn with_default(fit: &Fit<'_>, default: Verdict, language: Unlisted) -> Result<Numbering> {
        let (bounds, arches) = (Vec::new(), fit.arches.clone());
        let expected = BTreeMap::new();
        let mut numbering = Numbering { default, bounds, language, arches, expected };
        let permits = matches!(default.action(), Action::Allow | Action::Log | Action::Trace(_));
        let checked = fit.arches.iter().copied().filter(|_| language.enosys_above && !permits);
        for arch in checked {
            let bound = bound(fit, fit.func, arch)?;
            numbering.bounds.extend(bound.map(|bound| (arch, bound)));
        }
        numbering.set_expected(fit);
        while numbering.raise_bounds(fit) {
            numbering.set_expected(fit);
        }
        Ok(numbering)
    }

    /// The numbers of a range that get the default action, at least from some runtime.
    fn left_to_default(&self, one: &Unnamed) -> u64 {
        let enosys = Arch::with_token(one.token).next().map(|arch| Verdict::errno(arch.enosys()));
        let all = self.expected_in(one.token, one.first, one.last).into_iter();
        let own = all.filter(|(_, _, verdict)| {
            *verdict == self.default || self.language.may_lack_enosys && Some(*verdict) == enosys
        });
        own.map(|(first, last, _)| u64::from(last - first) + 1).sum()
    }

    /// Whether a syscall without an entry would get this verdict from some runtimes only.
    pub(crate) fn depends_on_runtime(&self, arch: Arch, verdict: Verdict) -> bool {
        let is_enosys = verdict == Verdict::errno(arch.enosys());
        self.language.may_lack_enosys && is_enosys && verdict != self.default
    }

    /// Takes the bounds of the filter as its runtime applies it, which is expected to apply the same rule to the policy.
    pub(crate) fn name_bounds(&mut self, fit: &Fit<'_>) -> Result<()> {
        let permits =
            matches!(self.default.action(), Action::Allow | Action::Log | Action::Trace(_));
        if let Some(applied) = fit.applied.filter(|_| !permits) {
            for arch in self.arches.iter().copied() {
                let bound = bound(fit, applied, arch)?;
                self.bounds.extend(bound.map(|bound| (arch, bound)));
            }
        }
        Ok(())
    }

    fn set_expected(&mut self, fit: &Fit<'_>) {
        self.expected = fit.tokens().into_iter().map(|token| (token, self.ranges(token))).collect();
    }

    /// Raises the bounds to the largest number of a name that gets an entry, which is for all architectures; whether one
    /// changes.
    fn raise_bounds(&mut self, fit: &Fit<'_>) -> bool {
        let mut names: BTreeSet<&'static str> =
            self.bounds.iter().filter_map(|(arch, bound)| arch.syscall_name(*bound)).collect();
        for (arch, _) in &self.bounds {
            let has_entry = |nr| {
                let expected = self.expected_at(arch.token(), nr);
                let own = fit.store.as_verdict(fit.syscall(arch.token(), nr));
                own != Some(expected) || self.depends_on_runtime(*arch, expected)
            };
            let own = arch.syscalls().filter(|(nr, _)| has_entry(*nr));
            names.extend(own.map(|(_, name)| name));
        }
        let mut is_raised = false;
        for (arch, bound) in &mut self.bounds {
            let direct = names.iter().filter(|name| arch.multiplexed(name).is_none());
            let largest = direct.filter_map(|name| arch.number(name)).max();
            if let Some(largest) = largest.filter(|largest| *largest > *bound) {
                *bound = largest;
                is_raised = true;
            }
        }
        is_raised
    }

    fn ranges(&self, token: u32) -> Vec<(u32, u32, Verdict)> {
        let mut ranges = vec![(0, u32::MAX, self.default)];
        let own: Vec<Arch> =
            self.arches.iter().copied().filter(|arch| arch.token() == token).collect();
        match own.as_slice() {
            _ if !self.language.kills_other_abi => {}
            [Arch::X86_64] => overlay(&mut ranges, X32_SYSCALL_BIT, u32::MAX - 1, BAD_ARCH),
            [Arch::X32] => overlay(&mut ranges, 0, X32_SYSCALL_BIT - 1, BAD_ARCH),
            _ => {}
        }
        for (arch, bound) in self.bounds.iter().filter(|(arch, _)| arch.token() == token) {
            let enosys = Verdict::errno(arch.enosys());
            let Some(above) = bound.checked_add(1) else { continue };
            match arch {
                Arch::X86_64 => {
                    overlay(&mut ranges, above, X32_SYSCALL_BIT - 1, enosys);
                    overlay(&mut ranges, 2 * X32_SYSCALL_BIT, 3 * X32_SYSCALL_BIT - 1, enosys);
                }
                Arch::X32 => {
                    overlay(&mut ranges, above, 2 * X32_SYSCALL_BIT - 1, enosys);
                    overlay(&mut ranges, 3 * X32_SYSCALL_BIT, u32::MAX, enosys);
                }
                Arch::S390 | Arch::S390x => {
                    overlay(&mut ranges, 0, 0, enosys);
                    overlay(&mut ranges, above, u32::MAX, enosys);
                }
                _ => overlay(&mut ranges, above, u32::MAX, enosys),
            }
        }
        ranges
    }

    /// The verdicts of numbers without an entry in a range.
    fn expected_in(&self, token: u32, first: u32, last: u32) -> Vec<(u32, u32, Verdict)> {
        let all = self.expected.get(&token).into_iter().flatten().copied();
        all.filter(|(from, to, _)| *from <= last && first <= *to)
            .map(|(from, to, verdict)| (from.max(first), to.min(last), verdict))
            .collect()
    }

    /// The verdict of a number without an entry.
    pub(crate) fn expected_at(&self, token: u32, nr: u32) -> Verdict {
        let found = self.expected_in(token, nr, nr);
        found.first().map_or(self.default, |(_, _, verdict)| *verdict)
    }

    /// Fits the numbers without a name.
    pub(crate) fn fit_unnamed(&self, fit: &mut Fit<'_>) -> Result<()> {
        for one in unnamed(fit)? {
            for (first, last, verdict) in self.expected_in(one.token, one.first, one.last) {
                if fit.store.as_verdict(one.func) == Some(verdict) {
                    continue;
                }
                let arch = Arch::with_token(one.token).next();
                let above = self.bounds.iter().any(|(arch, bound)| {
                    arch.token() == one.token
                        && first > *bound
                        && verdict == Verdict::errno(arch.enosys())
                });
                let is_x32 = self.language.kills_other_abi
                    && arch == Some(Arch::X86_64)
                    && first >= X32_SYSCALL_BIT;
                let why = match () {
                    () if is_x32 && !self.arches.contains(&Arch::X32) => {
                        "libseccomp kills numbers of x32 unless x32 is an architecture of the filter"
                    }
                    () if above => NUMBERS_ABOVE_FAIL,
                    () => self.language.why,
                };
                fit.replace_numbers(one.token, (first, last), verdict, why)?;
            }
        }
        Ok(())
    }
}

/// Whether a verdict ends the thread or the process, at least if it does not handle the signal.
fn is_kill(verdict: Verdict) -> bool {
    matches!(verdict.action(), Action::KillThread | Action::KillProcess | Action::Trap(_))
}

/// The number that must be named so that runc's rule makes no number fail with ENOSYS that does not in this filter.
fn bound(fit: &Fit<'_>, filter: Func, arch: Arch) -> Result<Option<u32>> {
    let enosys = Verdict::errno(arch.enosys());
    let (start, end) = region(arch);
    let intervals = fit.intervals_of(filter, arch.token())?;
    let own = intervals.iter().filter(|one| one.first <= end && start <= one.last);
    let other = own.filter(|one| fit.store.as_verdict(one.then) != Some(enosys));
    // The largest number that does not fail with ENOSYS must be named, or one above it.
    let last = other.map(|one| one.last.min(end)).max().unwrap_or(start);
    let direct = arch.syscalls().filter(|(_, name)| arch.multiplexed(name).is_none());
    let numbers: Vec<u32> = direct.map(|(nr, _)| nr).collect();
    // runc ignores a bound of 0.
    let above = numbers.iter().filter(|nr| **nr >= last.max(1)).min();
    Ok(above.or(numbers.iter().max()).copied())
}

/// The numbers of an ABI.
fn region(arch: Arch) -> (u32, u32) {
    match arch {
        Arch::X86_64 => (0, X32_SYSCALL_BIT - 1),
        Arch::X32 => (X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1),
        _ => (0, u32::MAX),
    }
}

/// The numbers without a name.
pub(crate) fn unnamed(fit: &Fit<'_>) -> Result<Vec<Unnamed>> {
    let mut found = Vec::new();
    for token in fit.tokens() {
        let arches = fit.arches.iter().filter(|arch| arch.token() == token);
        let named: BTreeSet<u32> =
            arches.flat_map(|arch| arch.syscalls().map(|(nr, _)| nr)).collect();
        for interval in fit.intervals(token)? {
            let mut from = Some(interval.first);
            for nr in named.range(interval.first..=interval.last) {
                if let (Some(first), Some(last)) =
                    (from.filter(|from| from < nr), nr.checked_sub(1))
                {
                    found.push(Unnamed { token, first, last, func: interval.then });
                }
                from = nr.checked_add(1);
            }
            if let Some(first) = from.filter(|from| *from <= interval.last) {
                found.push(Unnamed { token, first, last: interval.last, func: interval.then });
            }
        }
    }
    Ok(found)
}

/// Sets the verdict of a range; nothing if it is empty.
fn overlay(ranges: &mut Vec<(u32, u32, Verdict)>, first: u32, last: u32, verdict: Verdict) {
    if first > last {
        return;
    }
    let mut changed = Vec::with_capacity(ranges.len() + 2);
    for (from, to, old) in ranges.drain(..) {
        if let Some(before) = first.checked_sub(1).filter(|before| from <= *before) {
            changed.push((from, to.min(before), old));
        }
        if let Some(after) = last.checked_add(1).filter(|after| *after <= to) {
            changed.push((from.max(after), to, old));
        }
    }
    changed.push((first, last, verdict));
    changed.sort_unstable();
    *ranges = changed;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_replaces_a_range() {
        let (old, new) = (Verdict::ALLOW, Verdict::errno(1));
        let mut ranges = vec![(0, 9, old), (10, u32::MAX, new)];
        overlay(&mut ranges, 4, 5, new);
        assert_eq!(ranges, [(0, 3, old), (4, 5, new), (6, 9, old), (10, u32::MAX, new)]);
        overlay(&mut ranges, 5, u32::MAX, old);
        assert_eq!(ranges, [(0, 3, old), (4, 4, new), (5, u32::MAX, old)]);
        overlay(&mut ranges, 6, 5, new);
        assert_eq!(ranges.len(), 3);
    }
}
