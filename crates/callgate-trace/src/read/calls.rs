//! The calls of a log, bounded: a log may have any number in the place of that of a call.

use crate::recording::{CallId, Recording, Run, Values};
use callgate_bpf::diagnostic::Position;
use callgate_formats::diagnostics::messages::Messages;

/// How many different calls a recording may have: more than there are on all architectures together.
pub(crate) const MAX_CALLS: usize = 16_384;

/// A recording of one run.
pub(super) struct Calls {
    pub(super) recording: Recording,
    /// How many there was no room for, and where the first of them stands.
    lost: Option<(Position, u64)>,
}

impl Calls {
    pub(super) fn of(run: Run) -> Calls {
        Calls { recording: Recording::of(run), lost: None }
    }

    /// Adds one call, at this place, with what is known of its arguments.
    pub(super) fn add(
        &mut self,
        at: Position,
        call: CallId,
        args: impl IntoIterator<Item = Values>,
    ) {
        let calls = self.recording.calls().len();
        if calls < MAX_CALLS || self.recording.get(call).is_some() {
            self.recording.add(call, 1, args);
        } else {
            self.lose(at);
        }
    }

    /// There is no room for the call at this place.
    pub(super) fn lose(&mut self, at: Position) {
        let (_, lost) = self.lost.get_or_insert((at, 0));
        *lost = lost.saturating_add(1);
    }

    /// The recording; what is not in it is said.
    pub(super) fn finish(mut self, messages: &mut Messages) -> Recording {
        if let Some((at, lost)) = self.lost {
            let message = format!(
                "more than {MAX_CALLS} different calls, the limit; the others from here on ({lost}) are left out"
            );
            messages.warn(at, message).help =
                "no kernel has so many calls; check what was logged".to_owned();
            for run in self.recording.runs_mut() {
                run.lost = run.lost.saturating_add(lost);
            }
        }
        self.recording
    }
}
