//! Changes of lists of Android: an entry in a list of allowed syscalls.

use callgate_core::Arch;

use crate::change::edit::Edit;
use crate::change::input::Input;
use crate::change::lines;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let (text, wanted) = (input.text, input.wanted);
    if !wanted.args.is_empty() || !is_allowlist(input.file) {
        return Vec::new();
    }
    let arch = match wanted.arch {
        Arch::Aarch64 => "arm64",
        arch => arch.name(),
    };
    // Until Android 15, a type precedes each function; all lists of a filter must agree.
    let entries = text.lines().map(str::trim).filter(|line| line.contains('('));
    let first = entries.filter(|line| !line.starts_with('#')).map(has_type).next();
    let forms: &[&str] = match first {
        Some(true) => &["long "],
        Some(false) => &[""],
        None => &["", "long "],
    };
    let line = |form: &&str| vec![lines::at_end(text, &format!("{form}{}() {arch}", wanted.name))];
    forms.iter().map(line).collect()
}

/// Whether a file lists allowed syscalls; the other files of a filter have names that say otherwise.
fn is_allowlist(file: Option<&str>) -> bool {
    let name = file.and_then(|file| file.rsplit('/').next()).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    !["syscalls.txt", "blocklist", "blacklist", "priority"].iter().any(|own| name.contains(own))
}

fn has_type(entry: &str) -> bool {
    let head = entry.split('(').next().unwrap_or_default();
    head.trim_end().contains(char::is_whitespace)
}
