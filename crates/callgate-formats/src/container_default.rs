//! The project's own profile, `container-default`.

use callgate_bpf::diagnostic::Diagnostics;

use crate::oci::{Dialect, ReadOptions, read};
use crate::profile::Profile;

/// The text of the project's own profile, in Docker's format.
pub const CONTAINER_DEFAULT: &str = include_str!("../profiles/container-default.json");

/// Reads the project's own profile, `container-default`, in Docker's dialect.
///
/// It allows what containers with shells, package managers, databases, language runtimes and servers need, and
/// what each capability adds. Its text names every syscall up to Linux 6.18, and gives reasons in comments.
///
/// # Errors
/// As [`oci::read`](crate::oci::read()). The text is valid, so the only error is a combination of architectures that no kernel runs.
pub fn container_default(options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let options = ReadOptions { dialect: Some(Dialect::Docker), ..options.clone() };
    read(CONTAINER_DEFAULT, &options)
}
