//! What changed between the recordings of two versions of a program: new and disappeared syscalls and argument values, each
//! with the number of runs on both sides, and whether the difference is more than chance.
//!
//! # By chance
//!
//! `a` of `n` old runs made a syscall, and `b` of `m` new runs. If both versions behave alike, the `a + b` runs that made
//! it are a random choice of the `n + m` runs. The p-value is that of Fisher's exact test, two-sided (*The logic of inductive
//! inference*, J. R. Stat. Soc. 98, 1935).
//!
//! A recording has hundreds of syscalls, so a few of them differ by chance. The procedure of Benjamini and Hochberg
//! (*Controlling the false discovery rate*, J. R. Stat. Soc. B 57, 1995) over all compared syscalls and values decides
//! which differences are significant: at most 5 % of these are expected to be chance.
//!
//! # Limits
//!
//! Runs are assumed to be independent of each other and of one kind on each side: a syscall that depends on the time of the
//! day differs between versions that were recorded at different times. Values are compared for the arguments that
//! generated profiles limit, if all of them are known on both sides; bits that profiles do not compare are ignored, and
//! so are values that profiles always allow. If an argument had too many values to list
//! ([`MAX_VALUES`](crate::recording::MAX_VALUES)), values within its old bounds are not known to be new, and none are known to
//! have disappeared.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_trace::changes::changes;
//! use callgate_trace::recording::{Recording, Run, SyscallId};
//!
//! let run = |nr| {
//!     let mut recording = Recording::of(Run::default());
//!     recording.count(SyscallId::new(Arch::X86_64, nr), 1);
//!     recording
//! };
//! let found = changes(&run(2), &run(257));
//! assert_eq!(found.new[0].syscall.name(), Some("openat"));
//! assert_eq!(found.disappeared[0].syscall.name(), Some("open"));
//! // One run on each side says nothing.
//! assert!(!found.new[0].is_significant);
//! ```

use crate::generate::limitable::{self, LimitableArg};
use crate::recording::{ArgValues, Bounds, Evidence, Recording, SyscallId, SyscallStats};

/// What changed between the recordings of two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The old recordings.
    pub old: Side,
    /// The new recordings.
    pub new_side: Side,
    /// How many syscalls and values were compared.
    pub compared: usize,
    /// How many runs of each version are enough for one difference to be significant alone; `None` if there are as many, or
    /// if a difference is significant anyway.
    pub too_few: Option<u64>,
    /// What only new runs did, ordered by architecture and number.
    pub new: Vec<Change>,
    /// What only old runs did.
    pub disappeared: Vec<Change>,
}

/// The size of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The number of runs, at least 1.
    pub runs: u64,
    /// The number of different syscalls.
    pub syscalls: usize,
}

/// A syscall or a value that only one of the two versions used.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The syscall.
    pub syscall: SyscallId,
    /// What of it.
    pub what: Changed,
    /// In how many old runs it was seen.
    pub old: u64,
    /// In how many new runs it was seen; 0 for values of an argument of which too many were seen to list them.
    pub new: u64,
    /// The probability of such a difference if both versions behave alike; `None` if the number of runs is not known.
    pub chance: Option<f64>,
    /// Whether the difference is more than chance.
    pub is_significant: bool,
}

/// What of a syscall changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The syscall itself.
    Syscall,
    /// A value of an argument.
    Value {
        /// The number of the argument, from 0.
        arg: u8,
        /// The name of the argument.
        name: &'static str,
        /// The bits that are compared.
        mask: u64,
        /// The value of these bits.
        value: u64,
    },
    /// An argument had too many values to list them.
    ManyValues {
        /// The number of the argument, from 0.
        arg: u8,
        /// The name of the argument.
        name: &'static str,
    },
}

/// The largest number of runs per side for which probabilities are calculated: twice as many as a recording may have.
const MAX_RUNS: u64 = 20_000;

/// What the runs of the new recording did and those of the old one did not, and the reverse.
pub fn changes(old: &Recording, new: &Recording) -> Changes {
    let [old_side, new_side] = [old, new].map(|recording| Side {
        runs: (recording.runs().len() as u64).max(1),
        syscalls: recording.syscalls().len(),
    });
    let test = ExactTest::new(old_side.runs.min(MAX_RUNS), new_side.runs.min(MAX_RUNS));
    let mut comparison =
        Comparison { test, old: old_side, new: new_side, compared: 0, changes: Vec::new() };
    for (syscall, stats) in old.syscalls() {
        comparison.compared += 1;
        match new.get(syscall) {
            Some(news) => comparison.arguments(syscall, stats, news),
            None => comparison.push(syscall, Changed::Syscall, Some([stats.runs(), 0])),
        }
    }
    for (syscall, stats) in new.syscalls().filter(|(syscall, _)| old.get(*syscall).is_none()) {
        comparison.compared += 1;
        comparison.push(syscall, Changed::Syscall, Some([0, stats.runs()]));
    }
    comparison.finish()
}

struct Comparison {
    test: ExactTest,
    old: Side,
    new: Side,
    compared: usize,
    changes: Vec<Change>,
}

impl Comparison {
    /// Compares the arguments that generated profiles limit, and whose values both sides know.
    fn arguments(&mut self, syscall: SyscallId, old: &SyscallStats, new: &SyscallStats) {
        for limitable in syscall.name().into_iter().flat_map(limitable::of) {
            let Some(arg) = limitable.position(syscall.arch) else { continue };
            if let (Some(old), Some(new)) = (old.known(arg.into()), new.known(arg.into())) {
                self.values(syscall, limitable, arg, [old, new]);
            }
        }
    }

    fn values(
        &mut self,
        syscall: SyscallId,
        limitable: &LimitableArg,
        arg: u8,
        [old, new]: [&ArgValues; 2],
    ) {
        let (name, mask) = (limitable.name, limitable.mask());
        // The values that profiles do not always allow.
        let [seen_old, seen_new] = [old, new].map(|values| {
            let mut seen = values.seen_in_bits(mask);
            seen.retain(|value, _| !limitable.is_usual(*value));
            seen
        });
        let only_old = seen_old.keys().filter(|value| !seen_new.contains_key(value));
        let (only_old, bounds) = (only_old.count(), old.bounds().filter(|_| old.all().is_none()));
        if new.all().is_none() {
            if bounds.is_some() {
                return;
            }
            // At least one of the values is not among the old ones.
            self.push(syscall, Changed::ManyValues { arg, name }, None);
        } else {
            let within = |value: u64| bounds.is_some_and(|bounds| is_within(value, bounds, mask));
            let mut all: Vec<u64> = seen_old.keys().chain(seen_new.keys()).copied().collect();
            all.sort_unstable();
            all.dedup();
            for value in all.into_iter().filter(|value| !within(*value)) {
                let runs = [&seen_old, &seen_new].map(|seen| seen.get(&value).map(Evidence::runs));
                if let [Some(_), None] | [None, Some(_)] = runs {
                    let what = Changed::Value { arg, name, mask, value };
                    self.push(syscall, what, Some(runs.map(Option::unwrap_or_default)));
                }
            }
        }
        self.compared += only_old + seen_new.len();
    }

    fn push(&mut self, syscall: SyscallId, what: Changed, runs: Option<[u64; 2]>) {
        let [old, new] = runs.unwrap_or_default();
        let (old, new) = (old.min(self.old.runs), new.min(self.new.runs));
        let chance = runs.map(|_| self.test.chance(old, new));
        self.changes.push(Change { syscall, what, old, new, chance, is_significant: false });
    }

    fn finish(mut self) -> Changes {
        mark(&mut self.changes, self.compared);
        let (mut disappeared, mut new): (Vec<Change>, Vec<Change>) =
            self.changes.into_iter().partition(|change| change.old > 0 && change.new == 0);
        disappeared.sort_by_key(|change| change.syscall);
        new.sort_by_key(|change| change.syscall);
        let is_any = new.iter().chain(&disappeared).any(|change| change.is_significant);
        let (old, new_side, compared) = (self.old, self.new, self.compared);
        let needed = runs_needed(compared);
        let has_enough = old.runs.min(new_side.runs) >= needed;
        let too_few = (!is_any && !has_enough).then_some(needed);
        Changes { old, new_side, compared, too_few, new, disappeared }
    }
}

/// How many runs of each version are enough for one difference to be significant, if all runs of one version and none of
/// the other show it.
fn runs_needed(compared: usize) -> u64 {
    let limit = (FALSE_DISCOVERIES / compared.max(1) as f64).ln();
    // The probability is 2 / C(2k, k), and C(2k + 2, k + 1) = C(2k, k) · 2 (2k + 1) / (k + 1).
    let (mut runs, mut ln_chance) = (1, 0.0);
    while ln_chance > limit && runs < MAX_RUNS {
        let k = runs as f64;
        ln_chance -= (2.0 * (2.0 * k + 1.0) / (k + 1.0)).ln();
        runs += 1;
    }
    runs
}

/// Whether a value of the compared bits may be among the values that are not listed.
fn is_within(value: u64, bounds: Bounds, mask: u64) -> bool {
    let always = bounds.always & mask;
    let in_range = bounds.ever & !mask != 0 || (bounds.min..=bounds.max).contains(&value);
    value & !bounds.ever == 0 && value & always == always && in_range
}

/// The expected share of chance among the differences that are called significant.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Marks the significant ones of the differences, if `compared` syscalls and values were compared.
fn mark(changes: &mut [Change], compared: usize) {
    let mut all: Vec<(f64, &mut Change)> =
        changes.iter_mut().filter_map(|change| Some((change.chance?, change))).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let is_below = |(rank, (chance, _)): &(usize, &(f64, &mut Change))| {
        *chance <= (rank + 1) as f64 / compared.max(1) as f64 * FALSE_DISCOVERIES
    };
    let count = all.iter().enumerate().rfind(is_below).map_or(0, |(rank, _)| rank + 1);
    all.into_iter().take(count).for_each(|(_, change)| change.is_significant = true);
}

/// Logarithms of factorials up to a number.
struct ExactTest {
    old: u64,
    new: u64,
    ln_factorials: Vec<f64>,
}

/// Probabilities that differ only by rounding are equal.
const ROUNDING: f64 = 1e-7;

impl ExactTest {
    /// The test for this many old and new runs.
    fn new(old: u64, new: u64) -> ExactTest {
        let all = old.saturating_add(new);
        let mut sum = 0.0;
        let logarithms = (1..=all).map(|n| {
            sum += (n as f64).ln();
            sum
        });
        ExactTest { old, new, ln_factorials: std::iter::once(0.0).chain(logarithms).collect() }
    }

    fn ln_factorial(&self, n: u64) -> f64 {
        let known = usize::try_from(n).ok().and_then(|n| self.ln_factorials.get(n));
        known.copied().unwrap_or(f64::INFINITY)
    }

    fn ln_choose(&self, n: u64, k: u64) -> f64 {
        self.ln_factorial(n) - self.ln_factorial(k) - self.ln_factorial(n.saturating_sub(k))
    }

    /// The probability of a difference that is at least as unlikely as `a` of the old runs and `b` of the new ones.
    fn chance(&self, a: u64, b: u64) -> f64 {
        let (a, b) = (a.min(self.old), b.min(self.new));
        let seen = a + b;
        let all = self.ln_choose(self.old + self.new, seen);
        let of =
            |a: u64| (self.ln_choose(self.old, a) + self.ln_choose(self.new, seen - a) - all).exp();
        let limit = of(a) * (1.0 + ROUNDING);
        let possible = seen.saturating_sub(self.new)..=seen.min(self.old);
        possible.map(of).filter(|probability| *probability <= limit).sum::<f64>().min(1.0)
    }
}

#[cfg(test)]
mod tests;
