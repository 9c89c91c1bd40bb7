//! The input languages: one module for each, all of which read a text into a [`Policy`] with
//! messages that say what, where and what to do.
//!
//! - [`oci`]: the profiles of Docker, Podman, runc, crun, the OCI runtime specification and
//!   Kubernetes' Security Profiles Operator, in JSON or YAML.
//!
//! The readers of JSON-shaped languages share a tree with positions (`tree`, made by `json` or
//! `yaml`) and a walker that collects messages (`reader`).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod caps;
pub mod json;
pub mod keys;
pub mod messages;
pub mod oci;
pub mod reader;
pub mod ruleset;
mod strict;
pub mod tree;
#[cfg(feature = "yaml")]
pub mod yaml;

pub use caps::{CapError, CapSet};

use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_proof::policy::Policy;

/// The text of the project's own profile, in Docker's format.
pub const CONTAINER_DEFAULT: &str = include_str!("../profiles/container-default.json");

/// Reads the project's own profile, `container-default`, in Docker's dialect: what a container
/// needs that holds shells, package managers, databases, language runtimes and servers, and what
/// each capability adds. Its text names every call up to Linux 6.18, and says why in comments.
///
/// # Errors
/// As [`oci::read`]; the text is right, so only for architectures that do not go together.
pub fn container_default(options: &oci::Options) -> Result<Profile, Diagnostics> {
    let options = oci::Options { dialect: Some(oci::Dialect::Docker), ..options.clone() };
    oci::read(CONTAINER_DEFAULT, &options)
}

/// A profile: a policy, and how it wants to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What the filter does.
    pub policy: Policy,
    /// Whose reading of the text this is.
    pub dialect: oci::Dialect,
    /// How the profile wants the filter to be installed.
    pub flags: callgate_bpf::FilterFlags,
    /// Who handles the calls with SCMP_ACT_NOTIFY.
    pub listener: Option<Listener>,
    /// What the text may not mean the way it is written, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// The supervisor that a runtime hands the notification descriptor to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Path of its UNIX socket.
    pub path: String,
    /// Text that is handed over too.
    pub metadata: Option<String>,
}
