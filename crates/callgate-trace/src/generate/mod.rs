//! Generates least-privilege profiles from recordings.
//!
//! A [`Draft`] lists the syscalls that a profile allows, each with its [`GrantReason`]: the syscall was recorded, the
//! program that installs the filter needs it ([`Runtime`]), the kernel makes programs call it, a C library or the runtime
//! of a language may make it at any time ([`LanguageRuntime`]), or another C library
//! calls it instead of a recorded one. New namespaces are granted only if they were recorded ([`AllowedNamespaces`]). [`generate_with_code`] also grants what the code of the program can
//! make ([`CodeSyscall`]). Arguments that select what a syscall does are limited to the recorded values
//! ([`ArgLimit`]) if these are known and stable. All other syscalls are denied. A draft is written in one of several
//! languages. Before it is returned, the result is checked against the recordings, in the semantics of
//! that format, so a profile never denies a recorded syscall.
//!
//! A recording keeps the values of each argument separately. So limits on several arguments of one syscall allow
//! every combination of recorded values.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_trace::generate::{GenerateOptions, generate};
//! use callgate_trace::recording::{Recording, SyscallId};
//!
//! let mut recording = Recording::default();
//! recording.observe(SyscallId::new(Arch::X86_64, 41), &[1, 0x80001, 0, 0, 0, 0]);
//! let draft = generate(&[recording], &GenerateOptions::default())?;
//! let socket = draft.grants().find(|grant| grant.name == "socket").ok_or("not granted")?;
//! assert_eq!(socket.limits[0].to_string(), "family == 1");
//! let written = draft.write("oci".parse()?)?;
//! assert!(written.text.contains("SCMP_ACT_ALLOW"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arg_limit;
mod build;
mod directives;
mod draft;
mod error;
mod families;
mod grant;
mod language_runtime;
mod limit_namespaces;
pub(crate) mod limitable;
mod namespaces;
mod options;
mod recorded_limits;
mod remarks;
mod runtime;
mod systemd_versions;
mod write;

pub use arg_limit::{ArgLimit, Cube};
pub use build::{CodeSyscall, generate, generate_with_code};
pub use draft::Draft;
pub use error::GenerateError;
pub use grant::{Grant, GrantReason, UnlimitedArg};
pub use language_runtime::{LanguageRuntime, RuntimeCall};
pub use namespaces::{AllowedNamespaces, GrantedNamespaces, clone_fallbacks, created_namespaces};
pub use options::{DenyAction, GenerateOptions, LimitedArgs};
pub use recorded_limits::MIN_PER_VALUE;
pub use remarks::remarks;
pub use runtime::{NeededSyscall, Runtime};
pub use systemd_versions::{NEWEST as NEWEST_SYSTEMD, OLDEST as OLDEST_SYSTEMD};
pub use write::WrittenProfile;

#[cfg(test)]
mod tests;
