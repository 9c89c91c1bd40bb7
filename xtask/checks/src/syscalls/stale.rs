//! Generated files that differ from the generator's output.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that differs from the generator's output.
pub(crate) struct Stale {
    pub(crate) path: PathBuf,
    pub(crate) present: String,
    pub(crate) wanted: String,
}

pub(crate) fn stale(directory: &Path, files: &[(&str, String)]) -> Vec<Stale> {
    let stale = files.iter().filter_map(|(name, wanted)| {
        let path = directory.join(name);
        let present = fs::read_to_string(&path).unwrap_or_default();
        (present != *wanted).then(|| Stale { path, present, wanted: wanted.clone() })
    });
    stale.collect()
}

/// Describes the differences by the first different line of each file.
pub(crate) fn explain(files: &[Stale], sources: &str, task: &str) -> String {
    let mut text = format!("these files differ from the generated ones ({sources}):");
    for file in files {
        let mut present = file.present.lines();
        let mut wanted = file.wanted.lines();
        let (mut line, mut old, mut new) = (1, present.next(), wanted.next());
        while old == new && old.is_some() {
            (line, old, new) = (line + 1, present.next(), wanted.next());
        }
        let show = |line: Option<&str>| line.unwrap_or("(end of file)").to_owned();
        text += &format!(
            "\n{}:{line}:\n  is      {}\n  becomes {}",
            file.path.display(),
            show(old),
            show(new)
        );
    }
    text + &format!("\nrun `cargo xtask {task}` and commit the result")
}
