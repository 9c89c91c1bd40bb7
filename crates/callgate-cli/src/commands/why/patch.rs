//! Patches in files and on a terminal.

use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::output;
use crate::report::{self, Result};
use crate::text::printable;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// Writes the patch to a file, if there is one.
pub(super) fn write_patch(path: &Path, patch: Option<&str>) -> Result<()> {
    match patch {
        Some(patch) => output::write_file(path, patch.as_bytes()),
        None => {
            report::warn("--patch writes no file: there is no patch", "");
            Ok(())
        }
    }
}

/// Appends a patch. Control characters other than tabs are escaped, because the patch has lines of the profile.
pub(super) fn patch_lines(text: &mut String, patch: &str) {
    let mut is_escaped = false;
    for line in patch.lines() {
        let shown = line.split('\t').map(|part| printable(part).to_string());
        let shown = shown.collect::<Vec<_>>().join("\t");
        is_escaped |= shown != line;
        let style = match line.as_bytes() {
            [b'+', ..] => ADDED,
            [b'-', ..] => REMOVED,
            _ => Style::new(),
        };
        text.push_str(&format!("{style}{shown}{style:#}\n"));
    }
    if is_escaped {
        text.push_str("(with escaped characters; --patch FILE writes them as they are)\n");
    }
}
