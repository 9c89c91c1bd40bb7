//! The text of units: assignments of words, and comments.

use std::fmt::Write;

use super::arches::name;
use crate::layout::wrapped;
use callgate_core::{Arch, errno_name};

/// The maximum width of a line.
const WIDTH: usize = 80;

/// Assignments of words; several add up.
pub(super) fn lines<'w>(
    text: &mut String,
    key: &str,
    sign: &str,
    words: impl IntoIterator<Item = &'w str>,
) {
    let width = WIDTH - key.len() - sign.len();
    for line in wrapped(words, width, " ") {
        let _ = writeln!(text, "{key}{sign}{line}");
    }
}

/// A comment.
pub(super) fn comment(text: &mut String, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 2, " ") {
        let _ = writeln!(text, "# {line}");
    }
}

/// The names of architectures that systemd knows.
pub(super) fn names_of(arches: &[Arch]) -> impl Iterator<Item = &'static str> {
    arches.iter().filter_map(|arch| name(*arch))
}

/// An errno by name, if the name means the same everywhere or, as ENOSYS, on the main architecture, for which systemd reads it.
pub(super) fn errno_text(errno: u16, main: Arch) -> String {
    if errno == main.enosys() {
        return "ENOSYS".to_owned();
    }
    let name = errno_name(errno).filter(|_| errno <= 34);
    name.map_or_else(|| errno.to_string(), str::to_owned)
}
