//! In how many runs something was seen, and in which ones if these are few.
//!
//! What only one or two runs did is the basis of estimates of what no run has done yet ([`unseen`](crate::unseen)).
//! These need to know which runs they are: a rare event in one run may bring several new syscalls at once.

use super::limits::MAX_COUNT;

/// The number of runs in which a syscall or a value was seen, and the runs themselves if there are at most two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Evidence {
    runs: u64,
    /// The bits of the [`RunId`](super::RunId)s of one run or of two, sorted; of one run, twice. `None`: more than two runs,
    /// or not known; in a recording of one run the identity is implied.
    known: Option<[u64; 2]>,
}

impl Default for Evidence {
    /// One run.
    fn default() -> Evidence {
        Evidence::of(1)
    }
}

impl Evidence {
    /// This many runs, which are not known.
    pub(crate) fn of(runs: u64) -> Evidence {
        Evidence { runs, known: None }
    }

    /// These runs, if there are as many as `runs` says; otherwise they are not known.
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

    /// Says which run it is, if it is one and not known.
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

    /// The runs in at least one of the two. If they are not known, at least this many.
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
