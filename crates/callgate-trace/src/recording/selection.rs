//! Which of several recordings a merge takes, so that each run counts once.
//!
//! A recording is a set of runs, and its counts cannot be divided among them. So of recordings whose runs are contained in
//! those of another one, only the latter is taken. This rule looks at all recordings at once and therefore does not
//! depend on their order.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::caveat::Caveat;
use super::digest::digest;
use super::limits::MAX_RUNS;
use super::merge_error::{MergeError, MergeErrorKind};
use super::model::Recording;
use super::run::RunId;

/// The runs of a recording, and how complete it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    runs: usize,
    /// The numbers of the runs that have one, sorted.
    assigned: Box<[u64]>,
    /// The digests of the other runs, sorted; without the run of a recording that was not merged.
    digests: Box<[u64]>,
    /// Orders recordings of the same runs; the largest is taken.
    rank: Rank,
}

/// How much a recording contains, the most important first. The last part only makes the order unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_complete: bool,
    lost: Reverse<u64>,
    calls: u64,
    labels: usize,
    digest: u64,
}

impl Contents {
    pub(super) fn of(recording: &Recording) -> Contents {
        let runs = recording.runs();
        let (mut assigned, mut digests) = (Vec::new(), Vec::new());
        for run in runs {
            match run.id {
                Some(RunId::Assigned(number)) => assigned.push(number),
                Some(RunId::Digest(digest)) => digests.push(digest),
                None => {}
            }
        }
        assigned.sort_unstable();
        digests.sort_unstable();
        let is_cut = runs.iter().flat_map(|run| &run.caveats).any(|one| one.id == Caveat::CUT_OFF);
        let syscalls = recording.syscalls().map(|(syscall, stats)| (syscall, stats.count()));
        let rank = Rank {
            is_complete: !is_cut,
            lost: Reverse(runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.lost))),
            calls: recording.total(),
            labels: runs.iter().map(|run| run.labels.len()).sum(),
            digest: digest(&(runs, syscalls.collect::<Vec<_>>())),
        };
        Contents { runs: runs.len(), assigned: assigned.into(), digests: digests.into(), rank }
    }

    pub(super) fn runs(&self) -> usize {
        self.runs
    }

    pub(super) fn assigned(&self) -> &[u64] {
        &self.assigned
    }

    /// Whether a recording that has the numbers of these runs has all of them. Runs without a number are the same if
    /// their digests are.
    fn has_digests_of(&self, part: &Contents) -> bool {
        part.digests.iter().all(|digest| self.digests.binary_search(digest).is_ok())
    }
}

/// Which recordings are taken, in their order.
pub(super) fn select(all: &[Contents]) -> Result<Vec<bool>, MergeError> {
    let mut order: Vec<(usize, &Contents)> = all.iter().enumerate().collect();
    order.sort_by_key(|(_, contents)| Reverse((contents.runs, contents.rank)));
    let mut taken = vec![false; all.len()];
    // The recording that each run is taken from.
    let mut owners: FxHashMap<u64, (usize, &Contents)> = FxHashMap::default();
    let mut runs: usize = 0;
    for (index, contents) in order {
        let known = contents.assigned.iter().find_map(|run| Some((run, owners.get(run)?)));
        let Some((run, (owner, whole))) = known else {
            let own = |run: &u64| (*run, (index, contents));
            owners.extend(contents.assigned.iter().map(own));
            runs = runs.saturating_add(contents.runs);
            if let Some(taken) = taken.get_mut(index) {
                *taken = true;
            }
            continue;
        };
        let of_owner = |run: &&u64| owners.get(*run).is_some_and(|(other, _)| other == owner);
        let shared = contents.assigned.iter().filter(of_owner).count();
        if shared < contents.assigned.len() || !whole.has_digests_of(contents) {
            return Err(MergeError(MergeErrorKind::Shared {
                recordings: [index.min(*owner), index.max(*owner)],
                shared,
                run: RunId::Assigned(*run),
            }));
        }
    }
    match runs > MAX_RUNS {
        true => Err(MergeError(MergeErrorKind::TooManyRuns(runs))),
        false => Ok(taken),
    }
}
