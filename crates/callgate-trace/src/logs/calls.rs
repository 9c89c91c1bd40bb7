//! The syscalls of a log, with a limit on how many different ones are kept: a log may contain any number as a syscall
//! number.

use std::collections::BTreeMap;

use crate::recording::limits::MAX_CALLS;
use crate::recording::{CallId, CallStats, Recording, Run};
use callgate_bpf::diagnostic::Position;
use callgate_formats::diagnostics::messages::Messages;

/// A recording of one run. A reader that keeps the [`CallIndex`] of a syscall needs no further look-up.
pub(super) struct BoundedCalls {
    run: Run,
    stats: Vec<(CallId, CallStats)>,
    /// The index of each syscall in the list. A tree, because the numbers are those of the log, and a hostile log
    /// could contain numbers whose hashes collide.
    indices: BTreeMap<CallId, CallIndex>,
    /// The position of the first call that exceeded the limit, and the number of such calls.
    lost: Option<(Position, u64)>,
}

/// The index of a syscall in [`BoundedCalls`].
#[derive(Clone, Copy, Debug)]
pub(super) struct CallIndex(usize);

impl BoundedCalls {
    pub(super) fn of(run: Run) -> BoundedCalls {
        BoundedCalls { run, stats: Vec::new(), indices: BTreeMap::new(), lost: None }
    }

    /// The index of a syscall, which is added if necessary; `None` if the limit is reached.
    pub(super) fn index(&mut self, call: CallId) -> Option<CallIndex> {
        if let Some(index) = self.indices.get(&call) {
            return Some(*index);
        }
        if self.stats.len() >= MAX_CALLS {
            return None;
        }
        let index = CallIndex(self.stats.len());
        self.stats.push((call, CallStats::new(call)));
        self.indices.insert(call, index);
        Some(index)
    }

    /// The entry of the syscall with this index.
    pub(super) fn get_mut(&mut self, CallIndex(index): CallIndex) -> Option<&mut CallStats> {
        self.stats.get_mut(index).map(|(_, stats)| stats)
    }

    /// Counts a call that exceeds the limit, at this position in the text.
    pub(super) fn lose(&mut self, at: impl FnOnce() -> Position) {
        let (_, lost) = self.lost.get_or_insert_with(|| (at(), 0));
        *lost = lost.saturating_add(1);
    }

    /// The recording; reports calls that exceeded the limit.
    pub(super) fn finish(self, messages: &mut Messages) -> Recording {
        let mut run = self.run;
        if let Some((at, lost)) = self.lost {
            let message = format!(
                "more than {MAX_CALLS} different syscalls, the limit; calls of further ones are counted as lost: {lost}"
            );
            messages.warn(at, message).help =
                "no kernel has that many syscalls; check what was logged".to_owned();
            run.lost = run.lost.saturating_add(lost);
        }
        Recording::of_calls(run, self.stats)
    }
}
