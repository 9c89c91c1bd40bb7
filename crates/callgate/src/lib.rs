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
//! `callgate_linux::install(&program, FilterFlags::NONE)?`, from the crate `callgate-linux`, installs the program; its
//! `Installer` has the choices: all threads, a listener, without `no_new_privs`. This crate itself does no I/O and contains
//! no `unsafe` code.
//!
//! # Meaning of the example
//!
//! The kernel runs the program before each syscall of the thread; the program returns a [`Verdict`]. Here, the three
//! listed syscalls and some uses of `fcntl` are allowed; all others fail with `EPERM`. Syscalls of another ABI, such
//! as 32-bit code on x86-64, kill the process. Unknown names and values that do not fit are errors, and
//! an argument is compared with the width that the kernel reads. See [`FilterBuilder`] and [`Arg`] for the details.
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | build a filter from rules | [`Filter::builder`]: [`FilterBuilder`], [`Syscall`], [`Verdict`], [`Arch`] |
//! | add conditions on arguments | [`arg`], [`instruction_pointer`]: [`Arg`], combined to an [`Expr`] |
//! | compile it | [`Filter::compile`], or [`Filter::compile_with`] and [`Options`] |
//! | list what a filter does | [`Filter::explain`], [`Description::explain`] |
//! | compare two filters | [`diff`] |
//! | optimize an existing program | [`optimize`](fn@optimize) |
//! | merge several filters into one program | [`stack`], [`merge`] |
//! | compile rules about io_uring requests | [`compile::compile_requests`] |
//! | what a syscall is for, and whether it is dangerous | [`purposes`] |
//! | compile a policy that is a text | `callgate::source::compile`, with the feature `sources` or `yaml` |
//! | read a profile or a program in any form | `callgate::source`, with the same |
//! | convert a filter to a policy language | `callgate::convert`, with the feature `sources` or `yaml` |
//! | look for mistakes in a filter | `callgate::lint`, with the feature `sources` or `yaml` |
//!
//! # The proof
//!
//! Each compilation proves that the program and the rules are equal for every possible syscall. If not, there is
//! an error and no program; the proof cannot be disabled. It relies on the crate [`callgate_core`] only, not on
//! the code generator; only that crate can make a [`Proved`]. Its documentation describes the method.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! | feature | adds |
//! |---|---|
//! | `sources` | policies in all languages of [the list](https://docs.rs/callgate-formats), programs in any form, recordings |
//! | `yaml` | the same, and documents in YAML, such as `SeccompProfile` of Kubernetes |
//! | `serde` | `Serialize` and `Deserialize` for [`Verdict`], [`Arch`], programs and policies |
//!
//! # Underlying crates
//!
//! Applications that need more than the items above depend on the crates below this one: [`callgate_core`] (programs,
//! policies, decision diagrams, the proof), [`callgate_bpf`] (assembly, syscall tables, names), [`callgate_codegen`] (cost
//! models, queries on diagrams), `callgate_formats` (a module per language) and `callgate_trace` (recordings, logs, generated
//! profiles).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod compile;
#[cfg(feature = "sources")]
pub mod convert;
mod description;
pub mod emit;
mod error;
pub mod explain;
mod explained_filter;
mod filter;
pub mod fuzz;
mod kernel_support;
#[cfg(feature = "sources")]
pub mod lint;
#[cfg(feature = "sources")]
mod list_form;
mod listener;
pub mod optimize;
mod plain_program;
pub mod purposes;
pub mod sets;
pub mod socket_filters;
#[cfg(feature = "sources")]
pub mod source;
pub mod stack;

pub use callgate_bpf::{SyscallTable, values_by_name};
pub use callgate_core::{Action, Arch, Endian, Program, Proved, SeccompData, Verdict};
pub use compile::{Compiled, Options, Stats, compile, compile_template};
pub use description::{Description, diff};
pub use error::{BuildError, Error, ErrorKind, Result};
pub use filter::{
    Arches, Arg, ArgRef, ArgValue, Comparand, Expr, Filter, FilterBuilder, RuleError,
    RuleErrorKind, Syscall, Var, arg, instruction_pointer, var,
};
pub use kernel_support::Unsupported;
pub use listener::needs_listener;
pub use optimize::optimize;
pub use stack::merge;

/// The examples of the page about filters in Rust.
#[cfg(doctest)]
#[cfg(target_os = "linux")]
#[doc = include_str!("../../../docs/how-to/filters-in-rust.md")]
struct ProgramPage;

/// The example in Rust of the README of the repository.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use callgate::{Arch, Filter, Verdict, arg};
/// use libc::{EPERM, F_GETFD, F_GETFL};
///
/// let filter = Filter::builder(Arch::X86_64)
///     .default(Verdict::errno(EPERM as u16))
///     .allow(["read", "write", "exit_group"])?
///     .allow_if("fcntl", arg("cmd").is_in([F_GETFD, F_GETFL]) & arg("fd").eq(3))?
///     .build()?;
/// let program = filter.compile()?; // proved
/// callgate_linux::install(&program, callgate_linux::FilterFlags::NONE)?;
/// # Ok(())
/// # }
/// ```
#[cfg(doctest)]
#[cfg(target_os = "linux")]
struct Readme;

/// The example of the README of this crate.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use callgate::{Arch, Filter, Verdict, arg};
/// use libc::{EPERM, F_GETFD, F_GETFL};
///
/// let filter = Filter::builder(Arch::X86_64) // several architectures: Filter::builder([…])
///     .default(Verdict::errno(EPERM as u16))
///     .allow(["read", "write", "exit_group"])?
///     .allow_if("fcntl", arg("cmd").is_in([F_GETFD, F_GETFL]) & arg("fd").eq(3))?
///     .build()?;
/// println!("{}", filter.explain()?); // what it does with each syscall, as `callgate explain` prints it
/// let program = filter.compile()?; // proved
/// callgate_linux::install(&program, callgate_linux::FilterFlags::NONE)?;
/// # Ok(())
/// # }
/// ```
#[cfg(doctest)]
#[cfg(target_os = "linux")]
struct CrateReadme;
