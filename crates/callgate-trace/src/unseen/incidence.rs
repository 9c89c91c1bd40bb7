//! Counts of what was seen in one run and in two runs.

use rustc_hash::FxHashSet;

use crate::recording::Evidence;

/// What one run or two runs did that no others did.
#[derive(Debug, Default)]
pub(super) struct Incidence {
    /// Runs that did something alone.
    alone: FxHashSet<u64>,
    /// Pairs of runs that did something that no others did.
    pairs: FxHashSet<[u64; 2]>,
    /// How many things were done by one run that is not known, and by two.
    unknown: [u64; 2],
}

impl Incidence {
    /// Adds the runs of a syscall or a value.
    pub(super) fn add(&mut self, seen: Evidence) {
        match (seen.runs(), seen.known()) {
            (1, [run]) => _ = self.alone.insert(*run),
            (2, [a, b]) => _ = self.pairs.insert([*a, *b]),
            (1, _) => self.unknown[0] += 1,
            (2, _) => self.unknown[1] += 1,
            _ => {}
        }
    }

    /// How many runs did something alone.
    pub(super) fn alone(&self, runs: u64) -> u64 {
        (self.alone.len() as u64).saturating_add(self.unknown[0]).min(runs)
    }

    /// How many pairs of runs did something together of which neither did something alone.
    pub(super) fn pairs(&self) -> u64 {
        let of_alone = |pair: &&[u64; 2]| pair.iter().any(|run| self.alone.contains(run));
        let pairs = self.pairs.iter().filter(|pair| !of_alone(pair)).count();
        (pairs as u64).saturating_add(self.unknown[1])
    }
}
