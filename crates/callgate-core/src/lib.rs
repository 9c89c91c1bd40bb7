//! What must be believed: programs, policies, and the proof that both are the same function.
//!
//! A filter is a function from the 512 bits of `struct seccomp_data` to a 32-bit verdict. This crate has the semantics of
//! classic BPF and of policies, and proves that a program computes what a policy says. [`Proved`] is a program with what it was
//! proved to compute; no other crate can make one.
//!
//! - [`SeccompData`], [`Word`], [`Layout`]: what a filter reads; [`Verdict`]: what it returns;
//! - [`Program`]: instructions that the kernel accepts, [`Program::run`](LongProgram::run) executes them;
//!   [`is_constant_allow`] predicts whether the kernel caches that a syscall is allowed;
//! - [`template`]: programs with variables, whose values are set when a filter is installed;
//! - [`policy`]: the meaning of rules, and their evaluation for one syscall;
//! - [`diagram`]: functions as MTBDDs (multi-terminal binary decision diagrams), which are hash-consed, reduced and ordered: in
//!   one store, two functions are equal exactly if their roots are the same node. It derives the function of a policy from
//!   its rules, and that of a program by symbolic execution;
//! - [`Spec`]: what a program must compute, a policy or a program, a stack or a set of them;
//! - [`Meaning`]: the function of a spec. [`Meaning::prove`] accepts a program if both functions are the same node, and returns
//!   it as [`Proved`], with its spec. If they differ, [`NotProved::witness`] is a syscall for which they do;
//! - [`SocketProgram`], [`PacketHead`]: socket filters, and the packets that their proof covers;
//! - [`Cases`]: another, quicker proof for usual policies, without MTBDD. It proves a program or says nothing about it.
//!
//! The proof covers every value of every field, also arch tokens and syscall numbers that no kernel has. It is
//! exact. Its only limit is the [budget](diagram::Budget) of nodes and steps; a proof that exceeds it is an error.
//!
//! Believing a proof requires trust in this crate and in the Rust compiler, but not in readers of assembly, names of
//! syscalls, or the code generator. The README says what each file must guarantee. `callgate-smt` writes the same question for
//! independent solvers.
//!
//! ```
//! use callgate_core::{Endian, Insn, Op, Program, SeccompData, Verdict};
//!
//! let program = Program::new(vec![
//!     Insn::new(Op::LdWordAbs, 0),             // A = nr
//!     Insn::branch(Op::JeqK, 59, 0, 1),
//!     Insn::new(Op::RetK, Verdict::errno(1).0),
//!     Insn::new(Op::RetK, Verdict::ALLOW.0),
//! ])?;
//! let run = program.run(&SeccompData { nr: 59, ..SeccompData::default() }, Endian::Little);
//! assert_eq!((run.verdict, run.executed), (Verdict::errno(1), 3));
//! # Ok::<(), callgate_core::ProgramError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arch;
mod cases;
pub mod diagram;
mod input;
mod meaning;
pub mod policy;
mod program;
mod proved;
mod refusal;
#[cfg(feature = "serde")]
mod serialize;
mod spec;
mod syscall_set;
pub mod template;
mod verdict;

pub use arch::{Arch, X32_SYSCALL_BIT};
pub use cases::{
    Cases, Clause, Literal, NumberInterval, SectionCases, WordTest, are_alternatives, is_informed,
};
pub use input::{
    Endian, FilterInput, Layout, PACKET_BYTES, PacketHead, Place, SECCOMP_DATA_SIZE, SeccompData,
    Word, io_uring,
};
pub use meaning::{Created, Meaning};
pub use program::{
    Alu, Ancillary, AncillaryWord, Emulation, Emulator, Insn, LongProgram, MAX_INSNS,
    MAX_READ_INSNS, NoAncillary, Op, Operand, Program, ProgramError, ProgramHint, RawInsn,
    Relation, Run, SCRATCH_WORDS, SKF_AD_OFF, SKF_LL_OFF, SKF_NET_OFF, SocketProgram, Source, Step,
    UnknownCode, Violation, Width, cfg, is_constant_allow, load_absolute, load_indexed,
    slack_within,
};
pub use proved::Proved;
pub use refusal::{MeaningError, MeaningErrorKind, NotProved};
pub use spec::{Denial, FilterSpec, SetOperation, SetStep, Spec};
pub use syscall_set::SyscallSet;
pub use verdict::{Action, Verdict, errno_name, errno_number};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
