//! What was found out about the filters of this process.

use callgate_linux::{SeccompMode, ThreadStatus};
use callgate_measure::own_filters::ProbedCall;

use super::nearest::Nearest;

/// What was found out.
pub(super) struct Report {
    /// The status of this process; `None` without `/proc`.
    pub(super) status: Option<ThreadStatus>,
    /// The calls; none without a filter.
    pub(super) calls: Vec<ProbedCall>,
    pub(super) nearest: Option<Nearest>,
}

impl Report {
    pub(super) fn mode(&self) -> SeccompMode {
        self.status.as_ref().map_or(SeccompMode::Unknown, |status| status.mode)
    }
}
