//! The identity of a run: parts of a recording that are saved while a command runs have the same one as the whole.

use callgate_trace::recording::{Recording, Run, RunId};

use super::label::Label;
use crate::recordings;

/// The ID of a run, drawn once.
#[derive(Clone, Copy)]
pub(super) struct Identity(Option<RunId>);

impl Identity {
    pub(super) fn new() -> Identity {
        let mut recording = Recording::of(Run::default());
        recordings::identify(&mut recording);
        Identity(recording.runs().first().and_then(|run| run.id))
    }

    /// The recording with this identity and these labels.
    pub(super) fn of(self, recording: &Recording, labels: &[Label]) -> Recording {
        let mut recording = recording.clone();
        recording.runs_mut().iter_mut().for_each(|run| run.id = self.0);
        labels.iter().for_each(|one| recording.label(&one.key, &one.value));
        recording
    }
}
