//! Merges many recordings, each run once.

use std::fmt;

use rustc_hash::FxHashSet;

use super::limits::MAX_RUNS;
use super::model::Recording;
use super::run::RunId;

/// Merges recordings one after the other. The result does not depend on their order.
///
/// A recording is not added if all of its runs were added before, which is known for runs with a
/// [`RunId::Assigned`]. So merging is idempotent: recordings are sets of runs.
///
/// ```
/// use callgate_bpf::Arch;
/// use callgate_trace::recording::{Merger, Recording, Run, RunId, SyscallId};
///
/// let mut recording = Recording::of(Run { id: Some(RunId::Assigned(7)), ..Run::default() });
/// recording.count(SyscallId::new(Arch::X86_64, 3), 2);
/// let mut merger = Merger::default();
/// assert!(merger.add(recording.clone())?);
/// assert!(!merger.add(recording)?);
/// assert_eq!(merger.finish().total(), 2);
/// # Ok::<(), callgate_trace::recording::MergeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Merger {
    merged: Recording,
    /// The runs so far that have an assigned number.
    assigned: FxHashSet<u64>,
}

impl Merger {
    /// Adds a recording; `false` if all of its runs were added before.
    ///
    /// # Errors
    /// If some of its runs were added before, and it also has others: the counts of the former cannot be subtracted.
    /// Nothing is added then.
    ///
    /// If there are more than 10,000 runs, which no file may have: nothing is added.
    pub fn add(&mut self, recording: Recording) -> Result<bool, MergeError> {
        let numbers: FxHashSet<u64> = assigned(&recording).collect();
        let shared = numbers.iter().filter(|number| self.assigned.contains(*number)).count();
        let runs = self.merged.runs().len().saturating_add(recording.runs().len());
        if shared == 0 && runs > MAX_RUNS {
            return Err(MergeError(MergeErrorKind::TooManyRuns(runs)));
        } else if shared == 0 {
            self.assigned.extend(numbers);
            self.merged.absorb(recording);
        } else if shared == recording.runs().len() {
            return Ok(false);
        } else if shared == self.merged.runs().len() {
            self.assigned = numbers;
            self.merged = recording;
        } else {
            let of = |run: &u64| self.assigned.contains(run);
            let run = assigned(&recording).find(of).map_or(RunId::Digest(0), RunId::Assigned);
            return Err(MergeError(MergeErrorKind::Shared { shared, run }));
        }
        Ok(true)
    }

    /// The merged recording.
    pub fn finish(mut self) -> Recording {
        self.merged.sort_runs();
        self.merged
    }
}

/// The numbers of the runs that have one.
fn assigned(recording: &Recording) -> impl Iterator<Item = u64> {
    recording.runs().iter().filter_map(|run| match run.id {
        Some(RunId::Assigned(number)) => Some(number),
        _ => None,
    })
}

/// Why a recording cannot be merged with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeError(MergeErrorKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeErrorKind {
    /// It has runs that were merged before, for example this one, and others.
    Shared {
        shared: usize,
        run: RunId,
    },
    TooManyRuns(usize),
}

impl MergeError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.0 {
            MergeErrorKind::Shared { .. } => {
                "give each run once: omit one of the merged recordings, or merge the single ones again"
            }
            MergeErrorKind::TooManyRuns(_) => "merge fewer recordings",
        }
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MergeErrorKind::Shared { shared, run } => {
                let runs = if shared == 1 { "run" } else { "runs" };
                write!(
                    f,
                    "the recording shares {shared} {runs} with others, for example {run}, and also has other runs"
                )
            }
            MergeErrorKind::TooManyRuns(runs) => {
                write!(
                    f,
                    "a merged recording has at most {MAX_RUNS} runs, but this one makes it {runs}"
                )
            }
        }
    }
}

impl std::error::Error for MergeError {}
