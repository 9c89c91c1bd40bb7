//! The result of reading: a recording with warnings, or errors.

use crate::recording::Recording;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position};
use callgate_formats::diagnostics::messages::Messages;

/// A recording, and warnings about its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRecording {
    /// The syscalls.
    pub recording: Recording,
    /// Warnings about what was ignored, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// A recording, unless there are errors or it is empty.
pub(crate) fn checked(
    recording: Recording,
    mut messages: Messages,
) -> Result<ReadRecording, Diagnostics> {
    if !messages.failed() && recording.is_empty() {
        messages
            .error(Position { line: 1, column: 1 }, "no syscalls in this file")
            .set_help(Advice::SupportedRecordings);
    }
    let failed = messages.failed();
    let messages = messages.finish();
    if failed { Err(messages.into()) } else { Ok(ReadRecording { recording, warnings: messages }) }
}
