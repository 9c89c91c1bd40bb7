//! The files of the tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{read, run};

/// A file that git tracks.
pub(super) struct File {
    /// Its path below the root, with `/`.
    pub(super) path: String,
    /// What is in it.
    pub(super) text: String,
}

/// The paths of all files that git tracks.
pub(super) fn paths(root: &Path) -> Result<Vec<String>> {
    let listed = run(Command::new("git").current_dir(root).args(["ls-files", "-z"]))?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

/// The texts among these files. Links are left out: their targets are files of the tree themselves.
pub(super) fn texts(root: &Path, paths: &[String]) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for path in paths {
        let whole = root.join(path);
        // Files that were removed are tracked until the next commit.
        let is_file = fs::symlink_metadata(&whole).is_ok_and(|data| data.is_file());
        if is_file && let Ok(text) = String::from_utf8(read(&whole)?) {
            files.push(File { path: path.clone(), text });
        }
    }
    Ok(files)
}
