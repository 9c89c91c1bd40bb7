//! Why recordings cannot be merged.

use std::fmt;

use super::limits::MAX_RUNS;
use super::run::RunId;

/// Why recordings cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeError(pub(super) MergeErrorKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeErrorKind {
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
