//! Tries to create namespaces under a filter.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{output, run, write};

/// Tries `clone`, `clone3` and `unshare` with each namespace as user 65534, with and without a filter.
const SOURCE: &str = include_str!("probe.c");

/// The compiled program.
pub(super) struct Probe(PathBuf);

impl Probe {
    pub(super) fn compile(directory: &Path) -> Result<Probe> {
        let (source, program) = (directory.join("probe.c"), directory.join("probe"));
        write(&source, SOURCE)?;
        output(
            Command::new("cc").args(["-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source),
        )?;
        Ok(Probe(program))
    }

    /// Which attempts create a namespace under a filter, or without one: `clone user`, `unshare net`.
    pub(super) fn created(&self, filter: Option<&Path>) -> Result<Vec<String>> {
        let mut command = Command::new(&self.0);
        command.args(filter);
        Ok(run(&mut command)?.lines().map(str::to_owned).collect())
    }
}
