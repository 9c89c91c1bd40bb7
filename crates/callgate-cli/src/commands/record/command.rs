//! A command that is recorded.

use std::ffi::OsString;

use callgate_linux::Command;
use callgate_record::{Recorded, Save, record, record_to};

use super::args::{MethodArg, RecordedWords};
use crate::report::{Failure, Result};

/// A command whose program was found.
pub(crate) struct RecordedCommand {
    command: Command,
    /// What the recording says about it.
    words: Vec<String>,
}

impl RecordedCommand {
    pub(crate) fn find(words: &[OsString], recorded: RecordedWords) -> Result<RecordedCommand> {
        let command = Command::find(words)
            .map_err(|error| Failure::new(error.to_string()).status(error.exit_status()))?;
        let count = if recorded == RecordedWords::All { words.len() } else { 1 };
        let words =
            words.iter().take(count).map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(RecordedCommand { command, words })
    }

    /// Runs and records it, and saves the recording if there is a destination.
    pub(crate) fn record(self, via: MethodArg, save: Option<&mut dyn Save>) -> Result<Recorded> {
        let RecordedCommand { command, words } = self;
        let recorded = match save {
            Some(save) => record_to(&command, words, via.methods(), save),
            None => record(&command, words, via.methods()),
        };
        recorded.map_err(|error| {
            Failure::new(error.to_string()).help(error.help()).status(error.exit_status())
        })
    }
}
