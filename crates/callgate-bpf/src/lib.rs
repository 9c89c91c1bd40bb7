//! Classic BPF: instructions, programs that the kernel accepts, text forms, and the reference
//! interpreter.
//!
//! One table, [`Op`], drives everything about instructions: encoding, decoding, printing, parsing
//! and the acceptance rules. A [`Program`] is a seccomp filter that the kernel accepts, a
//! `Program<IoUringRequest>` is an [io_uring filter](io_uring) that it accepts, and a [`SocketProgram`] is a socket filter
//! that it accepts; none of these types can hold anything else. A [`ProgramError`] lists every reason why the kernel would
//! refuse a program.
//!
//! - [`asm`] reads assembly, [`text`] any textual form, which it recognises;
//! - [`disasm`] writes all of them;
//! - [`mod@cfg`] has successors, uses and definitions, liveness and forward analyses, [`Alu`] and
//!   [`Relation`] the semantics of arithmetic and comparisons;
//! - [`constants`] has the kernel's constants by name, and names the values of arguments;
//! - [`template`] has programs with variables, whose values are set when a filter is installed;
//! - [`printable`] has the characters that make a text look like another one, and escapes them;
//! - [`Layout`] has the words of the structures that filters read;
//! - [`is_constant_allow`] predicts whether the kernel caches that a syscall is allowed.
//!
//! ```
//! use callgate_bpf::{Insn, Op, Program};
//! use callgate_bpf::{Endian, SeccompData, Verdict};
//!
//! let program = Program::new(vec![
//!     Insn::new(Op::LdWordAbs, 0),             // A = nr
//!     Insn::branch(Op::JeqK, 59, 0, 1),
//!     Insn::new(Op::RetK, Verdict::errno(1).0),
//!     Insn::new(Op::RetK, Verdict::ALLOW.0),
//! ])?;
//! let run = program.run(&SeccompData { nr: 59, ..SeccompData::default() }, Endian::Little);
//! assert_eq!((run.verdict, run.executed), (Verdict::errno(1), 3));
//! # Ok::<(), callgate_bpf::ProgramError>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod alu;
mod ancillary;
#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod asm;
pub mod cfg;
mod check;
mod constallow;
pub mod constants;
pub mod data;
pub mod diagnostic;
pub mod disasm;
mod error;
mod filter_flags;
mod flow;
mod input;
mod insn;
mod interp;
pub mod io_uring;
mod layout;
mod lexer;
mod limits;
mod names;
mod op;
mod place;
pub mod printable;
mod program;
pub mod random;
#[cfg(feature = "serde")]
mod serialize;
pub mod suggest;
mod symbols;
pub mod syscalls;
pub mod template;
pub mod text;
pub mod verdict;
mod width;

pub use alu::{Alu, Relation, Source, slack_within};
pub use ancillary::{Ancillary, AncillaryWord, NoAncillary, SKF_AD_OFF, SKF_LL_OFF, SKF_NET_OFF};
pub use constallow::{Emulation, Emulator, is_constant_allow};
pub use data::{Endian, SeccompData, Word};
pub use error::{ProgramError, Violation};
pub use filter_flags::FilterFlags;
pub use flow::compared_arches;
pub use input::FilterInput;
pub use insn::{Insn, RawInsn, UnknownCode};
pub use interp::{Run, Step, load_absolute, load_indexed};
pub use layout::Layout;
pub use limits::{MAX_INSNS, MAX_READ_INSNS, SCRATCH_WORDS};
pub use op::{Op, Operand};
pub use place::Place;
pub use program::{LongProgram, Program, SocketProgram};
pub use syscalls::Arch;
pub use verdict::{Action, Verdict};
pub use width::Width;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
