//! Warnings about recordings.

use callgate_record::{MAX_SYSCALLS, Recorded};

use crate::report;

/// Warns about what a recording lacks; `target` names what was recorded if others are recorded at the same time.
pub(crate) fn warn_about(recorded: &Recorded, is_attached: bool, target: Option<&str>) {
    let warn = |message: String, help: String| match target {
        Some(target) => report::warn_about(target, message, help),
        None => report::warn(message, help),
    };
    for note in &recorded.notes {
        warn(note.to_string(), note.help().to_owned());
    }
    let lost: u64 = recorded.recording.runs().iter().map(|run| run.lost).sum();
    if lost > 0 {
        let help = match is_attached {
            _ if recorded.recording.syscalls().len() >= MAX_SYSCALLS => format!(
                "a recording has at most {MAX_SYSCALLS} different syscalls; the others are only counted"
            ),
            false => "record again; if the number stays high, use --via ptrace".to_owned(),
            true => "record again".to_owned(),
        };
        warn(format!("syscalls that are missing in the recording: {lost}"), help);
    }
}
