//! Patches in files.

use std::path::Path;

use crate::output;
use crate::report::{self, Result};

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
