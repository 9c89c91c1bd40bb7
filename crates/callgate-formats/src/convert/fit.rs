//! A filter that is fitted to a target: where the target cannot express it, it becomes stricter, and the loss is noted.

use super::alternatives::{Conjunction, alternatives};
use super::error::{ConvertError, ConvertErrorKind, Example, Loss, Losses, Result, Stop};
use callgate_bpf::SyscallTable;
use callgate_codegen::query::{self, Interval};
use callgate_core::diagram::{Func, Split, Store};
use callgate_core::{Action, Arch, SeccompData, Verdict, Word, X32_SYSCALL_BIT};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of intervals of arch tokens and of syscall numbers.
const MAX_INTERVALS: usize = 1 << 14;

/// A filter that is fitted to a target.
pub struct Fit<'s> {
    pub(crate) store: &'s mut Store,
    /// The filter, as far as the target can express it.
    pub(crate) func: Func,
    /// The filter itself.
    source: Func,
    /// The architectures, each with a function of its own; the main one first.
    pub(crate) arches: Vec<Arch>,
    /// The filter with the rules of its runtime, if the runtime of the policy is expected to add the same.
    pub(crate) applied: Option<Func>,
    losses: Losses,
    /// What to know about the policy that is not a loss.
    notes: Losses,
    /// Why a change permits more than the filter does.
    laxer: Option<String>,
    /// The alternatives that were found; many syscalls have the same function.
    found: HashMap<(Func, Verdict), Vec<Conjunction>>,
}

impl<'s> Fit<'s> {
    /// The filter itself, for these architectures and those that it treats in their own way.
    pub(crate) fn new(store: &'s mut Store, func: Func, given: &[Arch]) -> Result<Fit<'s>> {
        if query::has_comparisons(store, func) {
            return Err(ConvertError(ConvertErrorKind::ComparedArguments));
        }
        let mut fit = Fit {
            store,
            func,
            source: func,
            arches: given.to_vec(),
            applied: None,
            losses: Losses::default(),
            notes: Losses::default(),
            laxer: None,
            found: HashMap::default(),
        };
        let intervals = fit.arch_intervals()?;
        // The function of most tokens is that of the architectures that the filter does not know.
        let size = |interval: &&Interval| interval.last - interval.first;
        let others = intervals.iter().max_by_key(size).map(|interval| interval.then);
        let first_endian = given.first().map(|arch| arch.endian());
        for arch in Arch::ALL.iter().copied() {
            let own = fit.store.follow(func, Word::ARCH, arch.token());
            let is_new = !fit.arches.contains(&arch) && Some(own) != others;
            if is_new && first_endian.is_none_or(|endian| endian == arch.endian()) {
                fit.arches.push(arch);
            }
        }
        // Of two ABIs with one token, only those for which the filter has its own rules.
        for (own, other, first, last) in [
            (Arch::X86_64, Arch::X32, X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1),
            (Arch::X32, Arch::X86_64, 0, X32_SYSCALL_BIT - 1),
        ] {
            if fit.arches.contains(&own) && fit.is_constant(own.token(), first, last)? {
                fit.arches.retain(|arch| *arch != other);
            }
        }
        fit.arches.sort_by_key(|arch| {
            let place = given.iter().position(|known| known == arch).unwrap_or(given.len());
            (!arch.is_64bit() || *arch == Arch::X32, place, *arch)
        });
        Ok(fit)
    }

    fn arch_intervals(&self) -> Result<Vec<Interval>> {
        query::partition(self.store, self.func, Word::ARCH, MAX_INTERVALS)
            .ok_or_else(|| ConvertError::too_many_numbers(MAX_INTERVALS, "arch tokens".to_owned()))
    }

    /// The function of the numbers of a token.
    pub(crate) fn numbers(&self, token: u32) -> Func {
        self.store.follow(self.func, Word::ARCH, token)
    }

    /// The function of the arguments of a syscall.
    pub(crate) fn syscall(&self, token: u32, nr: u32) -> Func {
        self.store.follow(self.numbers(token), Word::NR, nr)
    }

    /// The numbers of a token, as intervals with the same function.
    pub(crate) fn intervals(&self, token: u32) -> Result<Vec<Interval>> {
        self.intervals_of(self.func, token)
    }

    /// The numbers of a token in any filter, as intervals with the same function.
    pub(crate) fn intervals_of(&self, filter: Func, token: u32) -> Result<Vec<Interval>> {
        let numbers = self.store.follow(filter, Word::ARCH, token);
        query::partition(self.store, numbers, Word::NR, MAX_INTERVALS).ok_or_else(|| {
            let arch = Arch::with_token(token).next().map_or("arch tokens", Arch::name);
            ConvertError::too_many_numbers(MAX_INTERVALS, arch.to_owned())
        })
    }

    /// Whether all numbers in a range have one verdict.
    fn is_constant(&self, token: u32, first: u32, last: u32) -> Result<bool> {
        let intervals = self.intervals(token)?;
        let mut own = intervals.iter().filter(|one| one.first <= last && first <= one.last);
        let then = own.next().map(|one| one.then);
        let verdict = then.and_then(|then| self.store.as_verdict(then));
        Ok(verdict.is_some() && own.all(|one| Some(one.then) == then))
    }

    /// The alternatives for which a function of the arguments has a verdict.
    pub(crate) fn alternatives(
        &mut self,
        func: Func,
        verdict: Verdict,
    ) -> Result<Vec<Conjunction>, Stop> {
        if let Some(found) = self.found.get(&(func, verdict)) {
            return Ok(found.clone());
        }
        let found = alternatives(self.store, func, verdict)?;
        self.found.insert((func, verdict), found.clone());
        Ok(found)
    }

    /// The tokens of the architectures, each once.
    pub(crate) fn tokens(&self) -> Vec<u32> {
        let mut tokens: Vec<u32> = Vec::new();
        for arch in &self.arches {
            if !tokens.contains(&arch.token()) {
                tokens.push(arch.token());
            }
        }
        tokens
    }

    /// Makes the verdict of the tokens of all other architectures this one; `why` is the reason if it differs.
    pub(crate) fn set_others(&mut self, verdict: Verdict, why: &str) -> Result<()> {
        let tokens = self.tokens();
        let mut fitted = self.store.verdict(verdict)?;
        for token in &tokens {
            let own = self.numbers(*token);
            fitted = self.store.split(Word::ARCH, Split::Equal(*token), own, fitted)?;
        }
        if fitted != self.func {
            // An architecture that exists is the better example.
            let other = Arch::ALL.iter().find(|arch| !tokens.contains(&arch.token()));
            let start = SeccompData {
                arch: other.map_or(0, |arch| arch.token()),
                ..SeccompData::default()
            };
            if let Some(example) = self.store.witness(self.func, fitted, start)? {
                let source = self.store.evaluate(self.func, &example)?;
                self.losses.add(why, example, source, verdict);
            }
            self.func = fitted;
        }
        Ok(())
    }

    /// Replaces the verdicts of an architecture, or of all, whose actions have no number in the language: those that do not
    /// `take` one, of which each has a word. The kernel kills the process for all others.
    pub(crate) fn drop_numbers(
        &mut self,
        arch: Option<Arch>,
        takes: fn(Action) -> bool,
        words: impl Fn(Verdict) -> Option<String>,
    ) -> Result<()> {
        let own = arch.map_or(self.func, |arch| self.numbers(arch.token()));
        for verdict in self.store.verdicts(own) {
            let (action, plain) = (verdict.action(), Verdict(verdict.0 & !u32::from(u16::MAX)));
            let is_known = !matches!(action, Action::Unknown(_));
            if takes(action) || verdict == plain && is_known {
                continue;
            }
            let word = words(plain).filter(|_| is_known && plain != Verdict::KILL_PROCESS);
            let (nearest, why) = match word {
                Some(word) => (plain, format!("{word} takes no number")),
                None => (
                    Verdict::KILL_PROCESS,
                    "there is no such action; the kernel kills the process".to_owned(),
                ),
            };
            self.replace_verdict(arch, verdict, nearest, &why)?;
        }
        Ok(())
    }

    /// Replaces a verdict wherever it occurs, on one architecture or on all.
    pub(crate) fn replace_verdict(
        &mut self,
        arch: Option<Arch>,
        old: Verdict,
        new: Verdict,
        why: &str,
    ) -> Result<()> {
        let own = arch.map_or(self.func, |arch| self.numbers(arch.token()));
        let has_it = query::has_verdict(self.store, own, old)?;
        let start = arch.map_or_else(
            || self.start(),
            |arch| SeccompData { arch: arch.token(), ..SeccompData::default() },
        );
        if let Some(example) = query::example(self.store, has_it, start) {
            self.losses.add(why, example, old, new);
            self.note_laxer(old, new, why);
            let then = self.store.verdict(new)?;
            let changed = self.store.select(has_it, then, own)?;
            self.func = match arch {
                Some(arch) => {
                    self.store.split(Word::ARCH, Split::Equal(arch.token()), changed, self.func)?
                }
                None => changed,
            };
        }
        Ok(())
    }

    /// The numbers of a name on the architectures that have the syscall.
    pub(crate) fn numbers_of(&self, name: &str) -> Vec<(Arch, u32)> {
        self.arches.iter().filter_map(|arch| Some((*arch, arch.number(name)?))).collect()
    }

    /// The verdicts of an architecture.
    pub(crate) fn verdicts_of(&self, arch: Arch) -> Vec<Verdict> {
        self.store.verdicts(self.numbers(arch.token()))
    }

    /// Replaces the function of a range of numbers; nothing is lost where it is the same.
    pub(crate) fn replace_numbers(
        &mut self,
        token: u32,
        (first, last): (u32, u32),
        new: Verdict,
        why: &str,
    ) -> Result<()> {
        let numbers = self.numbers(token);
        let then = self.store.verdict(new)?;
        let mut changed = self.store.split(Word::NR, Split::AtLeast(first), then, numbers)?;
        if let Some(after) = last.checked_add(1) {
            changed = self.store.split(Word::NR, Split::AtLeast(after), numbers, changed)?;
        }
        if new.permits() {
            self.check_laxer(numbers, changed, why)?;
        }
        self.replace_token(token, first, changed, why)
    }

    /// Replaces the function of a syscall; nothing is lost where it is the same.
    pub(crate) fn replace_syscall(
        &mut self,
        (arch, nr): (Arch, u32),
        new: Func,
        why: &str,
    ) -> Result<()> {
        let numbers = self.numbers(arch.token());
        let changed = self.store.split(Word::NR, Split::Equal(nr), new, numbers)?;
        self.check_laxer(self.syscall(arch.token(), nr), new, why)?;
        self.replace_token(arch.token(), nr, changed, why)
    }

    /// Replaces the function of a token; `nr` is a number whose function may change.
    fn replace_token(&mut self, token: u32, nr: u32, changed: Func, why: &str) -> Result<()> {
        let numbers = self.numbers(token);
        if changed == numbers {
            return Ok(());
        }
        let start = SeccompData { arch: token, nr, ..SeccompData::default() };
        if let Some(example) = self.store.witness(numbers, changed, start)? {
            let example = SeccompData { arch: token, ..example };
            let [old, new] = [numbers, changed].map(|func| self.store.evaluate(func, &example));
            self.losses.add(why, example, old?, new?);
        }
        self.func = self.store.split(Word::ARCH, Split::Equal(token), changed, self.func)?;
        Ok(())
    }

    /// Notes that a new function permits more than an old one, if it does.
    fn check_laxer(&mut self, old: Func, new: Func, why: &str) -> Result<()> {
        if old != new && laxer(self.store, old, new)?.is_some() {
            self.laxer.get_or_insert_with(|| why.to_owned());
        }
        Ok(())
    }

    /// Notes the first reason for which the nearest policy permits more than the filter.
    fn note_laxer(&mut self, old: Verdict, new: Verdict, why: &str) {
        if self.laxer.is_none() && !is_as_strict(new, old) {
            self.laxer = Some(why.to_owned());
        }
    }

    /// Why the nearest policy permits more than the filter, if it does.
    pub(crate) fn laxer(&self) -> Option<&str> {
        self.laxer.as_deref()
    }

    /// Notes a loss that changes no verdict.
    pub(crate) fn note(&mut self, why: &str) {
        self.losses.note(why);
    }

    /// Notes what to know about the policy for these syscalls.
    pub(crate) fn remark(&mut self, why: &str, names: &[&'static str]) {
        let has = |arch: Arch| names.iter().filter(move |name| arch.number(name).is_some());
        let all = self.arches.iter().flat_map(|arch| has(*arch).map(|name| (*arch, *name)));
        self.notes.about(why, all);
    }

    /// What to know about the policy that is not a loss.
    pub(crate) fn take_notes(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.notes).finish()
    }

    /// Notes that every policy has this verdict for a syscall.
    pub(crate) fn note_syscall(&mut self, name: &str, written: Verdict, why: &str) -> Result<()> {
        for arch in self.arches.clone() {
            let Some(nr) = arch.number(name) else { continue };
            let start = SeccompData { arch: arch.token(), nr, ..SeccompData::default() };
            let then = self.store.verdict(written)?;
            let own = self.syscall(arch.token(), nr);
            if let Some(data) = self.store.witness(own, then, start)? {
                let source = self.store.evaluate(self.func, &data)?;
                self.losses.add(why, data, source, written);
            }
        }
        Ok(())
    }

    /// Notes that a policy differs from the filter.
    pub(crate) fn note_difference(&mut self, written: Func, why: &str) -> Result<()> {
        if let Some(example) = self.store.witness(self.func, written, self.start())? {
            let source = self.store.evaluate(self.func, &example)?;
            let verdict = self.store.evaluate(written, &example)?;
            self.losses.add(why, example, source, verdict);
        }
        Ok(())
    }

    /// The strictest verdict of a function.
    pub(crate) fn strictest(&self, func: Func) -> Verdict {
        strictest(self.store.verdicts(func))
    }

    /// Whether nothing was lost.
    pub(crate) fn is_exact(&self) -> bool {
        self.losses.is_empty()
    }

    /// The losses. An example may have changed several times, so its verdicts are those of the filter and of the result; if
    /// it changed back, another one is looked for.
    pub(crate) fn into_losses(mut self) -> Result<Vec<Loss>> {
        let mut losses = std::mem::take(&mut self.losses).finish();
        for loss in &mut losses {
            let Some(example) = &mut loss.example else { continue };
            example.source = self.store.evaluate(self.source, &example.data)?;
            let written = self.store.evaluate(self.func, &example.data)?;
            if written != example.source {
                example.written = written;
            } else if example.written == written {
                if let Some(other) = self.changed(&loss.syscalls)? {
                    *example = other;
                }
            }
        }
        Ok(losses)
    }

    /// An example of these syscalls whose verdict changes.
    fn changed(&mut self, syscalls: &[(Arch, &'static str)]) -> Result<Option<Example>> {
        for (arch, name) in syscalls {
            let Some(nr) = arch.number(name) else { continue };
            let data = SeccompData { arch: arch.token(), nr, ..SeccompData::default() };
            let [old, new] = [self.source, self.func].map(|func| {
                let numbers = self.store.follow(func, Word::ARCH, arch.token());
                self.store.follow(numbers, Word::NR, nr)
            });
            if let Some(data) = self.store.witness(old, new, data)? {
                let source = self.store.evaluate(self.source, &data)?;
                let written = self.store.evaluate(self.func, &data)?;
                return Ok(Some(Example { data, source, written }));
            }
        }
        Ok(None)
    }

    fn start(&self) -> SeccompData {
        let arch = self.arches.first().map_or(0, |arch| arch.token());
        SeccompData { arch, ..SeccompData::default() }
    }
}

/// How much a verdict permits: less with a larger number. The order is that of the kernel's precedence, except that all
/// actions that do not run the syscall are equal.
fn rank(verdict: Verdict) -> u8 {
    match verdict.action() {
        Action::Allow => 0,
        Action::Log => 1,
        Action::Trace(_) => 2,
        Action::UserNotif(_) => 3,
        _ => 4,
    }
}

/// Whether a verdict permits no more than another one.
pub(crate) fn is_as_strict(new: Verdict, old: Verdict) -> bool {
    rank(new) >= rank(old)
}

/// The verdict whose action has the highest precedence; ALLOW if there is none.
pub(crate) fn strictest(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let all = verdicts.into_iter();
    all.max_by_key(|one| (one.precedence(), std::cmp::Reverse(one.data())))
        .unwrap_or(Verdict::ALLOW)
}

/// A syscall for which `new` permits more than `old`; `None` proves that there is none.
pub(crate) fn laxer(store: &mut Store, old: Func, new: Func) -> Result<Option<SeccompData>> {
    let combinations = store.verdict_combinations([old, new])?;
    let laxer = |([old, new], _): &([Verdict; 2], SeccompData)| !is_as_strict(*new, *old);
    Ok(combinations.into_iter().find(laxer).map(|(_, data)| data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_permits_less_is_stricter_and_denials_are_equal() {
        let order = [
            Verdict::ALLOW,
            Verdict::LOG,
            Verdict::trace(0),
            Verdict::user_notif(0),
            Verdict::errno(1),
        ];
        for (i, a) in order.into_iter().enumerate() {
            for (j, b) in order.into_iter().enumerate() {
                assert_eq!(is_as_strict(a, b), i >= j, "{a} {b}");
            }
        }
        let denials =
            [Verdict::errno(0), Verdict::trap(1), Verdict::KILL_THREAD, Verdict::KILL_PROCESS];
        for a in denials {
            assert!(denials.iter().all(|b| is_as_strict(a, *b)));
        }
        assert_eq!(strictest([Verdict::ALLOW, Verdict::errno(1), Verdict::LOG]), Verdict::errno(1));
        assert_eq!(strictest([]), Verdict::ALLOW);
    }
}
