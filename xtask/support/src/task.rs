//! Tasks of development.

use std::path::{Path, PathBuf};

/// The result of a task; the error is a message for the user.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// A task of `cargo xtask` or `cargo lab`.
pub struct Task {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for the list of tasks.
    pub summary: &'static str,
    /// Its full help.
    pub help: &'static str,
    /// Runs it with its arguments.
    pub run: fn(&[String]) -> Result<()>,
}

/// The root of the tree, which has the workspace of the product.
pub fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}
