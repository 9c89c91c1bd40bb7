//! Build seccomp filters for Linux: small, fast, and **proved** to do what their rules say.
//!
//! ```
//! use callgate::{Arch, Filter, Verdict, arg};
//!
//! # fn main() -> Result<(), callgate::Error> {
//! let filter = Filter::builder(Arch::X86_64)
//!     .default(Verdict::errno(1)) // EPERM
//!     .allow(["read", "write", "exit_group"])?
//!     .allow_if("fcntl", arg("cmd").is_in([1, 3]) & arg(0).eq(3))? // F_GETFD, F_GETFL of fd 3
//!     .build()?;
//! let program = filter.compile()?;
//! # assert_eq!(program.run(&callgate::SeccompData::default(), filter.policy().endian()).verdict.0, 1 << 31);
//! # Ok(())
//! # }
//! ```
//!
//! The crate `callgate-linux` installs the program: `callgate_linux::install(&program, FilterFlags::NONE)?`.
//! This crate does no I/O, reads no clock and contains no `unsafe` code.
//!
//! # Where to begin
//!
//! | to | use |
//! |---|---|
//! | build a filter from rules | [`Filter::builder`]: [`FilterBuilder`], [`Syscall`], [`Verdict`], [`Arch`] |
//! | have rules depend on arguments | [`arg`], [`instruction_pointer`]: [`Arg`], combined to an [`Expr`] |
//! | compile it | [`Filter::compile`], or [`Filter::compile_with`] and [`Options`] |
//! | make an existing program better | [`optimize`](fn@optimize) |
//! | make one program of several filters | [`stack`], [`merge`] |
//! | see what a filter does | [`Filter::explain`], [`Description::explain`] |
//! | compare two filters | [`diff`] |
//! | read a container profile | `callgate::formats`, with the feature `oci` |
//!
//! # The proof
//!
//! A filter is a function from the 64 bytes of `struct seccomp_data` to a 32-bit verdict. Rules and programs
//! both become the same canonical decision diagram, in which two filters are equal exactly when their
//! roots are the same node. A program that was compiled goes back into the diagram, and is handed out only
//! when it is that node; there is no option to skip this. What must be trusted for it are the crates
//! [`proof`] and [`bpf`].
//!
//! # Features
//!
//! None is enabled by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `oci` | `callgate::formats`: profiles of Docker, Podman, runc, crun and the OCI runtime specification |
//! | `yaml` | the same in YAML, and Kubernetes' `SeccompProfile`; implies `oci` |
//! | `trace` | `callgate::trace`: recordings of syscalls, checks against them, generated profiles; implies `oci` |
//! | `serde` | `Serialize` and `Deserialize` for [`Verdict`], [`Arch`], programs and policies |
//!
//! # The crates below
//!
//! [`bpf`], [`proof`], [`codegen`], `formats` and `trace` are the crates that this one is made of, for those
//! who need more than the front door: instructions and syscall tables, policies and diagrams, cost
//! models and questions about filters, readers, recordings.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod compile;
mod description;
mod error;
pub mod explain;
mod filter;
pub mod fuzz;
pub mod optimize;
pub mod stack;

pub use callgate_bpf::{Action, Arch, Endian, Program, SeccompData, Verdict};
pub use compile::{Compiled, Options, Stats, compile};
pub use description::{Description, diff};
pub use error::{BuildError, Error, ErrorKind, Result};
pub use filter::{
    Arches, Arg, ArgRef, ArgValue, Expr, Filter, FilterBuilder, RuleError, Syscall, arg,
    instruction_pointer,
};
pub use optimize::optimize;
pub use stack::merge;

#[doc(no_inline)]
pub use callgate_bpf as bpf;
#[doc(no_inline)]
pub use callgate_codegen as codegen;
#[cfg(feature = "oci")]
#[doc(no_inline)]
pub use callgate_formats as formats;
#[doc(no_inline)]
pub use callgate_proof as proof;
#[cfg(feature = "trace")]
#[doc(no_inline)]
pub use callgate_trace as trace;

// Shorter paths to modules of the crates above, for the other crates of this workspace.
#[doc(hidden)]
pub use callgate_bpf::{Word, data, diagnostic, random, syscalls, verdict};
#[cfg(feature = "oci")]
#[doc(hidden)]
pub use callgate_formats as frontend;
#[doc(hidden)]
pub use callgate_proof::{diagram, policy};
#[cfg(feature = "trace")]
#[doc(hidden)]
pub use callgate_trace::{check, counts, generate, read, recording};
