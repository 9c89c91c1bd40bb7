//! Compares two recordings.

use super::exact::ExactTest;
use super::model::{Change, Changed, Changes, Side};
use super::significance::{FALSE_DISCOVERIES, mark};
use super::values;
use crate::recording::{Recording, SyscallId, SyscallStats};

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
        match new.get(syscall) {
            Some(news) => comparison.both(syscall, stats, news),
            None => comparison.one_sided(syscall, [stats.runs(), 0]),
        }
    }
    for (syscall, stats) in new.syscalls().filter(|(syscall, _)| old.get(*syscall).is_none()) {
        comparison.one_sided(syscall, [0, stats.runs()]);
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
    fn one_sided(&mut self, syscall: SyscallId, runs: [u64; 2]) {
        self.compared += 1;
        self.push(syscall, Changed::Syscall, Some(runs));
    }

    fn both(&mut self, syscall: SyscallId, old: &SyscallStats, new: &SyscallStats) {
        self.compared += 1;
        for values in values::compare(syscall, old, new) {
            self.compared += values.compared;
            values.changed.into_iter().for_each(|(what, runs)| self.push(syscall, what, runs));
        }
    }

    fn push(&mut self, syscall: SyscallId, what: Changed, runs: Option<[u64; 2]>) {
        let [old, new] = runs.unwrap_or_default();
        let (old, new) = (old.min(self.old.runs), new.min(self.new.runs));
        let chance = runs.map(|_| self.test.chance(old, new));
        self.changes.push(Change { syscall, what, old, new, chance, is_significant: false });
    }

    fn finish(mut self) -> Changes {
        mark(self.changes.iter_mut(), self.compared);
        let (mut disappeared, mut new): (Vec<Change>, Vec<Change>) =
            self.changes.into_iter().partition(|change| change.old > 0 && change.new == 0);
        disappeared.sort_by_key(|change| change.syscall);
        new.sort_by_key(|change| change.syscall);
        let is_any = new.iter().chain(&disappeared).any(|change| change.is_significant);
        let needed = runs_needed(self.compared);
        let has_enough = self.old.runs.min(self.new.runs) >= needed;
        let too_few = (!is_any && !has_enough).then_some(needed);
        Changes {
            old: self.old,
            new_side: self.new,
            compared: self.compared,
            too_few,
            new,
            disappeared,
        }
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
