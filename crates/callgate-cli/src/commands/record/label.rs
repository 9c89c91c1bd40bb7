//! `--label KEY=VALUE`.

use std::collections::BTreeSet;
use std::fmt;

use callgate_bpf::diagnostic::Diagnostic;
use callgate_trace::recording::{MAX_LABELS, Recording};

use crate::report::{Failure, Result as Checked};

/// A label of runs.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) key: String,
    pub(super) value: String,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The longest key and value in bytes.
const MAX_LENGTH: usize = 256;

/// The label of a recording of one executable.
const EXECUTABLE: &str = "executable";

/// Checks the labels of a run: each key once, and not more than a recording may have. `splits`: recordings of
/// executables have another one.
pub(super) fn check(labels: &[Label], splits: bool) -> Checked<()> {
    let mut keys = BTreeSet::new();
    if let Some(twice) = labels.iter().find(|label| !keys.insert(&label.key)) {
        return Err(Failure::new(format!("--label {} is given twice", twice.key))
            .help("a run has one value of each label"));
    }
    if splits && keys.contains(&EXECUTABLE.to_owned()) {
        return Err(
            Failure::new(format!("--label {EXECUTABLE} is set by --split")).help("use another key")
        );
    }
    let (count, most) = (labels.len(), if splits { MAX_LABELS - 1 } else { MAX_LABELS });
    if count > most {
        let why = if splits { ", and --split adds one" } else { "" };
        return Err(Failure::new(format!(
            "{count} labels were given, but a run has at most {MAX_LABELS}{why}"
        ))
        .help("give fewer labels"));
    }
    Ok(())
}

/// Adds labels to a recording; an error if a run then has more labels than a reader accepts.
pub(super) fn add(recording: &mut Recording, labels: &[Label]) -> Result<(), Diagnostic> {
    labels.iter().for_each(|Label { key, value }| recording.label(key, value));
    let most = recording.runs().iter().map(|run| run.labels.len()).max().unwrap_or(0);
    match most > MAX_LABELS {
        false => Ok(()),
        true => {
            let message =
                format!("with --label, a run has {most} labels, more than {MAX_LABELS}, the limit");
            Err(Diagnostic::error(None, message).help("give fewer labels"))
        }
    }
}

/// Parses a label.
pub(super) fn label(text: &str) -> Result<Label, String> {
    let (key, value) =
        text.split_once('=').ok_or("a label is KEY=VALUE, for example node=web-1")?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if key.is_empty() || !key.chars().all(is_key) {
        return Err("the key consists of letters, digits, `_`, `-`, `.` and `/`".to_owned());
    }
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err("the value is empty or has control characters".to_owned());
    }
    let longest = key.len().max(value.len());
    if longest > MAX_LENGTH {
        return Err(format!("{longest} bytes are more than {MAX_LENGTH}, the limit"));
    }
    Ok(Label { key: key.to_owned(), value: value.to_owned() })
}
