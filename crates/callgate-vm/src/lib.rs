//! Engines that run classic BPF in user space; all of them return the same verdicts.
//!
//! Engines take a [`Program`](callgate_core::Program) or a
//! [`SocketProgram`](callgate_core::SocketProgram), which hold only programs that the kernel accepts.
//! [`Reference`], the interpreter of `callgate-bpf`, defines what a program means; the other engines
//! return the same result faster:
//!
//! | engine | what it is | seccomp | packets |
//! |---|---|---|---|
//! | [`Reference`] | the reference interpreter | yes | yes |
//! | [`Decoded`] | an interpreter of fused operations and jump tables | yes | yes |
//! | [`Cached`] | a table of verdicts by arch and syscall number, with another engine as fallback | yes | no |
//! | [`Jit`] | a compiler to native code for x86-64 and aarch64 | yes | yes |
//!
//! ```
//! use callgate_core::{Insn, Op, Program};
//! use callgate_core::{Endian, SeccompData, Verdict};
//! use callgate_vm::{EngineKind, SeccompEngine};
//!
//! let program = Program::new(vec![
//!     Insn::new(Op::LdWordAbs, 0),             // A = nr
//!     Insn::branch(Op::JeqK, 59, 0, 1),
//!     Insn::new(Op::RetK, Verdict::errno(1).0),
//!     Insn::new(Op::RetK, Verdict::ALLOW.0),
//! ])?;
//! let execve = SeccompData { nr: 59, ..SeccompData::default() };
//! for kind in EngineKind::ALL {
//!     let engine = kind.seccomp(&program, Endian::NATIVE)?;
//!     assert_eq!(engine.verdict(&execve), Verdict::errno(1), "{kind}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An [`EngineStack`] combines engines with the kernel's action precedence. Where an engine is not available,
//! [`EngineKind::seccomp_or_decoded`] falls back to [`Decoded`] and reports why.
//!
//! No engine allocates memory per run, and all of them can be shared between threads.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cached;
mod decoded;
pub mod differential;
mod engine;
mod flow;
mod jit;
mod kind;
mod reference;

pub use cached::{CACHED_NUMBERS, Cached};
pub use decoded::Decoded;
pub use engine::{EngineError, EngineStack, PacketEngine, SeccompEngine};
pub use jit::Jit;
pub use kind::{EngineKind, SelectedEngine, UsePacket, UseSeccomp};
pub use reference::Reference;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
