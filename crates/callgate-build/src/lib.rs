//! Compiles seccomp policies while a program is built: in a build script, or for the macro `callgate_macros::filter!`.
//!
//! The generated source code needs the crate `libc` only. It contains an array of instructions, proved to mean the policy, and
//! for a policy with variables, a function with a parameter for each variable. With [`Policy::installer`], there is a
//! function that installs the filter.
//!
//! In `build.rs`:
//!
//! ```no_run
//! use callgate_build::Policy;
//!
//! // Writes $OUT_DIR/sandbox.rs with SANDBOX_TEMPLATE, sandbox(…) and install_sandbox(…).
//! Policy::new("sandbox.kafel").installer(true).compile_or_exit();
//! ```
//!
//! In the program: `include!(concat!(env!("OUT_DIR"), "/sandbox.rs"));`.
//!
//! The source code for a target, without a build script:
//!
//! ```
//! use callgate_build::{Arch, Policy};
//!
//! let policy = Policy::new("examples/sandbox.kafel").installer(true);
//! let generated = policy.generate(Arch::X86_64)?;
//! let source = generated.source();
//! assert!(source.contains("pub const fn sandbox(controller_fd: u32) -> [libc::sock_filter;"));
//! assert!(source.contains("pub fn install_sandbox(controller_fd: u32) -> std::io::Result<()>"));
//! # Ok::<(), callgate_build::Error>(())
//! ```
//!
//! [`Configurations`] compiles one policy for each configuration of a program. The program chooses when it starts.
//!
//! # Which files are read
//!
//! The extension decides, unless [`Policy::format`] is given: `.kafel`; `.policy` (minijail's or Kafel's language, by its
//! first line); `.json` (a document of Firecracker or a container profile, by its first keys); `.yaml` and `.yml` (a
//! container profile). Kafel's and minijail's policies may include files, and resources of Kubernetes have base profiles in
//! files with their names; each file that is read is reported to Cargo. [`Policy::expression`] combines a policy with presets
//! and syscalls.
//!
//! Nothing depends on the machine that builds: a container profile with conditions on the kernel version is an error
//! without [`Policy::kernel`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate proc_macro;

mod cargo;
mod configurations;
mod excerpt;
mod files;
#[doc(hidden)]
pub mod filter_macro;
mod format;
mod generate;
mod message;
mod policy;
mod read;

pub use callgate::Arch;
pub use callgate_bpf::syscalls::KernelVersion;
pub use callgate_codegen::Aim;
pub use callgate_formats::CapSet;
pub use callgate_formats::oci::Dialect;
pub use configurations::Configurations;
pub use format::Format;
pub use generate::{Generated, rust_condition};
pub use message::{Error, Message};
pub use policy::Policy;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
