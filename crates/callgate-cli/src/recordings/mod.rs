//! Recordings of the command line: files in any format, and fleets of them.

mod batch;
mod files;
mod merged;
mod stream;
mod warnings;

pub(crate) use files::{
    NamedRecording, RecordingOptions, identify, is_recording, merge_failed, merged,
    programs_in_words, read_all, read_selected,
};
pub(crate) use merged::{Merged, read_merged};
