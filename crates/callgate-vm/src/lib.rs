//! Run classic BPF in user space: several engines, one verdict.
//!
//! A program comes in by type: [`Program`](callgate_bpf::Program) and
//! [`SocketProgram`](callgate_bpf::SocketProgram) hold nothing but what the kernel accepts, so an
//! engine never sees anything else. What it means is what the [`Reference`] does, the interpreter of
//! the core crate; every other engine gives the same answer sooner:
//!
//! | engine | what it is | seccomp | packets |
//! |---|---|---|---|
//! | [`Reference`] | the plain interpreter, the definition | yes | yes |
//! | [`Decoded`] | translated once: fused operations and tables | yes | yes |
//! | [`Cached`] | verdicts by arch and number in front of another engine | yes | no |
//! | [`Jit`] | native code for x86-64 and aarch64 | yes | yes |
//!
//! ```
//! use callgate_bpf::{Insn, Op, Program};
//! use callgate_bpf::{Endian, SeccompData, Verdict};
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
//! A [`Stack`] asks several engines with the kernel's precedence. Where this machine has no such engine,
//! [`EngineKind::seccomp_or_decoded`] takes the one that works everywhere, and says so.
//!
//! No engine allocates memory for a call, and all of them can be shared between threads.
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
mod stack;

pub use cached::{Cached, NUMBERS};
pub use decoded::Decoded;
pub use engine::{EngineError, PacketEngine, SeccompEngine};
pub use jit::Jit;
pub use kind::{EngineKind, Made, UsePacket, UseSeccomp};
pub use reference::Reference;
pub use stack::Stack;
