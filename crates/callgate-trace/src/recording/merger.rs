//! Merges many recordings, each run once.
//!
//! A recording is a set of runs, and its counts cannot be divided among them. So a recording is ignored if another recording
//! contains all of its runs. This rule looks at all recordings at once and therefore does not depend on their order.

use std::cmp::Reverse;
use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::limits::MAX_RUNS;
use super::model::Recording;
use super::run::{Caveat, RunId, digest};

/// Merges recordings that are added one after the other, so that they need not be in memory at once. The result does not
/// depend on their order.
///
/// Recordings are sets of runs, so merging is idempotent: a recording does not count if another one contains all of its runs.
/// Runs are identified by [`RunId::Assigned`](super::RunId::Assigned). Of several recordings with the same runs, the most
/// complete one counts: not truncated, with the fewest lost syscalls, the most calls and the most labels.
///
/// Nothing can be subtracted from what was merged. If a recording arrives after a part of it, the recordings must be
/// added a second time: [`Merging::Again`].
///
/// ```
/// use callgate_core::Arch;
/// use callgate_trace::recording::{Merger, Merging, Recording, Run, RunId, SyscallId};
///
/// let mut recording = Recording::of(Run { id: Some(RunId::Assigned(7)), ..Run::default() });
/// recording.count(SyscallId::new(Arch::X86_64, 3), 2);
/// let mut merger = Merger::default();
/// merger.add(recording.clone());
/// merger.add(recording);
/// let Merging::Done { merged, taken } = merger.finish()? else { panic!() };
/// assert_eq!((merged.total(), taken), (2, 1));
/// # Ok::<(), callgate_trace::recording::MergeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Merger {
    merged: Recording,
    /// The runs so far that have an assigned number.
    assigned: FxHashSet<u64>,
    /// What was added so far, and whether it was merged.
    added: Vec<(Contents, bool)>,
    /// In the second pass, what was added in the first, and which recordings must be merged.
    plan: Option<Vec<(Contents, bool)>>,
}

/// The result of a [`Merger`].
#[derive(Debug)]
pub enum Merging {
    /// All recordings were merged.
    Done {
        /// The merged recording.
        merged: Recording,
        /// How many of the recordings count; the runs of the others are contained in these.
        taken: usize,
    },
    /// A recording arrived after a part of it. Add all recordings to this one again, in the same order.
    Again(Merger),
}

impl Merger {
    /// Merges recordings that are in memory.
    ///
    /// # Errors
    /// As [`finish`](Merger::finish).
    pub fn all(recordings: &[Recording]) -> Result<Recording, MergeError> {
        let contents: Vec<Contents> = recordings.iter().map(Contents::of).collect();
        let taken = select(&contents)?;
        let mut merged = Recording::default();
        let chosen = recordings.iter().zip(taken).filter(|(_, taken)| *taken);
        chosen.for_each(|(recording, _)| merged.absorb(recording.clone()));
        merged.sort_runs();
        Ok(merged)
    }

    /// Adds a recording.
    pub fn add(&mut self, recording: Recording) {
        let contents = Contents::of(&recording);
        let takes = match &self.plan {
            Some(plan) => plan.get(self.added.len()).is_some_and(|(_, takes)| *takes),
            // Too many runs are an error in the end, unless some are given twice.
            None => {
                let runs = self.merged.runs().len().saturating_add(contents.runs);
                runs <= MAX_RUNS && contents.assigned.iter().all(|run| !self.assigned.contains(run))
            }
        };
        if takes {
            self.assigned.extend(&contents.assigned);
            self.merged.absorb(recording);
        }
        self.added.push((contents, takes));
    }

    /// The merged recording.
    ///
    /// # Errors
    /// - Two recordings share some runs, and each also has runs of its own: the counts of the shared runs cannot be separated.
    /// - There are more than 10,000 runs, the limit of a file.
    /// - The recordings of the second pass differ from those of the first.
    pub fn finish(mut self) -> Result<Merging, MergeError> {
        if self.plan.as_ref().is_some_and(|plan| *plan != self.added) {
            return Err(MergeError(MergeErrorKind::Changed));
        }
        let (contents, merged): (Vec<Contents>, Vec<bool>) = self.added.into_iter().unzip();
        let taken = select(&contents)?;
        if taken != merged {
            let plan = Some(contents.into_iter().zip(taken).collect());
            return Ok(Merging::Again(Merger { plan, ..Merger::default() }));
        }
        self.merged.sort_runs();
        let taken = taken.iter().filter(|taken| **taken).count();
        Ok(Merging::Done { merged: self.merged, taken })
    }
}

/// The runs of a recording, and how complete it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contents {
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
    fn of(recording: &Recording) -> Contents {
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

    /// Whether a recording that has the numbers of these runs has all of them. Runs without a number are the same if
    /// their digests are.
    fn has_digests_of(&self, part: &Contents) -> bool {
        part.digests.iter().all(|digest| self.digests.binary_search(digest).is_ok())
    }
}

/// Which recordings are taken, in their order.
fn select(all: &[Contents]) -> Result<Vec<bool>, MergeError> {
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

/// Why recordings cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeError(MergeErrorKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeErrorKind {
    /// Two recordings have runs in common, for example this one, and each has others.
    Shared {
        recordings: [usize; 2],
        shared: usize,
        run: RunId,
    },
    TooManyRuns(usize),
    /// In the second pass, a recording had other runs.
    Changed,
}

impl MergeError {
    /// The two recordings that the error is about: 0 is the first that was added.
    pub fn recordings(&self) -> Option<[usize; 2]> {
        match self.0 {
            MergeErrorKind::Shared { recordings, .. } => Some(recordings),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.0 {
            MergeErrorKind::Shared { .. } => {
                "give each run once: omit one of the two, or merge the single recordings again"
            }
            MergeErrorKind::TooManyRuns(_) => "merge fewer recordings",
            MergeErrorKind::Changed => "merge again when no other program writes to them",
        }
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MergeErrorKind::Shared { shared, run, .. } => {
                let runs = if shared == 1 { "run" } else { "runs" };
                write!(
                    f,
                    "two recordings share {shared} {runs}, for example {run}, and both also have other runs"
                )
            }
            MergeErrorKind::TooManyRuns(runs) => {
                write!(f, "a merged recording has at most {MAX_RUNS} runs, but these have {runs}")
            }
            MergeErrorKind::Changed => write!(f, "the recordings changed while they were merged"),
        }
    }
}

impl std::error::Error for MergeError {}
