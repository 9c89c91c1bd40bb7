//! The number of runs in which something was seen, and the identity of the runs if there are at most two.
//!
//! Estimates of what no run has done yet ([`unseen`](crate::unseen)) are based on what only one or two runs did. They need
//! the identity of these runs, because a rare event in one run may add several syscalls at once.

use super::limits::MAX_COUNT;

/// The number of runs in which a syscall or a value was seen, and the runs themselves if there are at most two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    runs: u64,
    /// The bits of the [`RunId`](super::RunId)s of two runs, sorted; for one run, the same bits twice. `None` if there are more
    /// than two runs, or if the identity is unknown; a recording of one run implies it.
    known: Option<[u64; 2]>,
}

impl Default for Evidence {
    /// One run.
    fn default() -> Evidence {
        Evidence::of(1)
    }
}

impl Evidence {
    /// This many runs, with unknown identity.
    pub(crate) fn of(runs: u64) -> Evidence {
        Evidence { runs, known: None }
    }

    /// This many runs, with these identities if `known` has exactly `runs` of them.
    pub(crate) fn of_known(runs: u64, known: &[u64]) -> Evidence {
        let known = match (runs, known) {
            (1, [one]) => Some([*one; 2]),
            (2, [a, b]) => Some([*a.min(b), *a.max(b)]),
            _ => None,
        };
        Evidence { runs, known }
    }

    /// How many runs.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The bits of the identities of the runs; empty if they are not known.
    pub(crate) fn known(&self) -> &[u64] {
        match &self.known {
            Some([one, _]) if self.runs == 1 => std::slice::from_ref(one),
            Some(two) => two,
            None => &[],
        }
    }

    /// Sets the identity of a single run, unless it is known.
    pub(super) fn attribute(&mut self, run: u64) {
        if self.runs == 1 {
            self.known.get_or_insert([run; 2]);
        }
    }

    /// The runs of both.
    pub(super) fn join(self, other: Evidence, relation: RunRelation) -> Evidence {
        match relation {
            RunRelation::Different => {
                let runs = self.runs.saturating_add(other.runs).min(MAX_COUNT);
                match (self.known(), other.known()) {
                    ([a], [b]) => Evidence::of_known(runs, &[*a, *b]),
                    _ => Evidence::of(runs),
                }
            }
            RunRelation::Same => self.unite(other),
        }
    }

    /// The union of the runs. If some are unknown, the larger of the two numbers, which is a lower bound.
    pub(crate) fn unite(self, other: Evidence) -> Evidence {
        match (self.known(), other.known()) {
            ([], _) | (_, []) if self.runs > other.runs => self,
            ([], _) => other,
            (_, []) if other.runs > self.runs => other,
            (_, []) => self,
            (known, more) => {
                let mut all = [known, more].concat();
                all.sort_unstable();
                all.dedup();
                Evidence::of_known(all.len() as u64, &all)
            }
        }
    }
}

/// Whether two recordings are parts of the same runs or of different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunRelation {
    Same,
    Different,
}
