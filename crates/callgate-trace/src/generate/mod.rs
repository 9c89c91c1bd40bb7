//! From recordings to a least-privilege profile.
//!
//! A [`Draft`] lists the calls that a profile allows, each with its [`Reason`]: it was recorded, whoever
//! installs the filter needs it ([`Runtime`]), or another C library calls it instead of one that was
//! recorded. Arguments that choose what a call does are limited to what was recorded ([`Limit`]), where
//! that is known and stable. Everything else is denied. A draft is written as text in one of several
//! languages ([`Form`]), and checked against the recordings in what that language makes of it, so that
//! no profile comes out that denies what was recorded.
//!
//! A recording knows the values of each argument for itself. So limits on several arguments of one
//! call allow every combination of recorded values.
//!
//! ```
//! use callgate_trace::generate::{Form, Options, generate};
//! use callgate_trace::recording::{CallId, Recording};
//! use callgate_bpf::Arch;
//!
//! let mut recording = Recording::default();
//! recording.observe(CallId::new(Arch::X86_64, 41), &[1, 0x80001, 0, 0, 0, 0]);
//! let draft = generate(&[recording], &Options::default())?;
//! let socket = draft.grants().find(|grant| grant.name == "socket").ok_or("not granted")?;
//! assert_eq!(socket.limits[0].to_string(), "family == 1");
//! let written = draft.write(Form::Oci)?;
//! assert!(written.text.contains("SCMP_ACT_ALLOW"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arg_limit;
mod directives;
mod draft;
mod error;
mod families;
mod limitable;
mod options;
mod remarks;
mod runtime;
mod write;

pub use arg_limit::{Cube, Limit};
pub use directives::{NEWEST as NEWEST_SYSTEMD, OLDEST as OLDEST_SYSTEMD};
pub use draft::{Draft, Grant, Reason, Unlimited};
pub use error::GenerateError;
use options::times;
pub use options::{Arguments, Deny, Options, generate};
pub use remarks::remarks;
pub use runtime::Runtime;
pub use write::{Form, Written};

#[cfg(test)]
mod tests;
