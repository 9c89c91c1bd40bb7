//! Merges many recordings, each run once.

use rustc_hash::FxHashSet;

use super::limits::MAX_RUNS;
use super::merge_error::{MergeError, MergeErrorKind};
use super::model::Recording;
use super::selection::{Contents, select};

/// Merges recordings that are added one after the other, so that they need not be in memory at once. The result does not
/// depend on their order.
///
/// Recordings are sets of runs, so merging is idempotent: of recordings whose runs are contained in those of another one,
/// which is known for runs with a [`RunId::Assigned`](super::RunId::Assigned), only the latter counts. Of several with the
/// same runs, the one that is most complete counts: not truncated, with the fewest lost syscalls, the most calls and the
/// most labels.
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
                let runs = self.merged.runs().len().saturating_add(contents.runs());
                runs <= MAX_RUNS
                    && contents.assigned().iter().all(|run| !self.assigned.contains(run))
            }
        };
        if takes {
            self.assigned.extend(contents.assigned());
            self.merged.absorb(recording);
        }
        self.added.push((contents, takes));
    }

    /// The merged recording.
    ///
    /// # Errors
    /// If two recordings have runs in common, and each also has others: the counts of the former cannot be separated.
    /// Also if there are more than 10,000 runs, which no file may have, and if the recordings of the second pass are not
    /// those of the first.
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
