//! Targets of Rust.

use callgate::Arch;
use callgate::emit::{Language, target_condition};

/// The predicate for `#[cfg(…)]` that holds for the targets of an architecture.
#[must_use]
pub fn rust_condition(arch: Arch) -> Option<String> {
    target_condition(Language::Rust, arch)
}
