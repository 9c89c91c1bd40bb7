//! The tests that were built, and what is needed to run them.

use std::process::Command;

use super::judge::Judge;
use super::process::{LIMIT, run};
use super::programs::Programs;
use super::tools::Tools;

/// Everything that running a line of a table needs.
pub(super) struct Suite {
    pub(super) programs: Programs,
    pub(super) tools: Tools,
    pub(super) judge: Judge,
    pub(super) has_valgrind: bool,
    /// The seed of random syscalls.
    pub(super) seed: u64,
}

/// Whether valgrind is installed.
pub(super) fn has_valgrind() -> bool {
    let ended = run(Command::new("valgrind").arg("--version"), LIMIT);
    ended.is_ok_and(|ended| ended.success().is_ok())
}
