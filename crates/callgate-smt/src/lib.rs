//! Part of the command `callgate`, without a stable interface.
//!
//! Translation of filters to SMT-LIB 2, so that another solver can check that two of them are equivalent.
//!
//! [`script`] writes one script in the logic `QF_BV`. It is unsatisfiable exactly when both filters return
//! the same 32-bit value for every `struct seccomp_data`; otherwise a model is a syscall for which they differ
//! (a counterexample). All 64 bytes are unconstrained, regardless of the architectures of the filters.
//!
//! The translation is independent of the proof in `callgate-core`: it does not use the decision diagram, and
//! it has its own semantics of instructions. It shares only the types of policies with that crate.
//!
//! - `policy.rs`: a policy, rule by rule;
//! - `program.rs`: a program, instruction by instruction, in static single assignment form;
//! - `variables.rs`: variables, whose values are unconstrained, too;
//! - `writer.rs`: the text, and the returned value, from the conditions under which each value is returned.
//!
//! The size of a script is linear in the size of the filters. Terms are not nested deeper than the conditions of
//! the policy, because solvers read terms recursively: everything else is a definition of its own.
//!
//! ```
//! use callgate_core::{Endian, Insn, LongProgram, Op};
//! use callgate_smt::{Filter, Side, script};
//!
//! let program = |verdict| LongProgram::new(vec![Insn::new(Op::RetK, verdict)]);
//! let (allow, kill) = (program(0x7fff_0000)?, program(0)?);
//! let side = |name, program| Side { name, filters: vec![Filter::Program(program)] };
//! let text = script(Endian::Little, &side("allow", &allow), &side("kill", &kill), &[])?;
//! assert!(text.contains("(define-fun a.at0 () Bool true) ; ret #0x7fff0000"));
//! assert!(text.contains("(assert (not (= verdict_a verdict_b)))\n(check-sat)\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: the SMT-LIB Standard, version 2.6; the SMT-LIB theory `FixedSizeBitVectors`; for what filters mean,
//! `seccomp(2)`, `kernel/seccomp.c` and `net/core/filter.c`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod policy;
mod program;
mod script;
#[cfg(test)]
mod tests;
mod variables;
mod writer;

pub use script::{Filter, GET_VALUE, Side, script};
pub use variables::Untranslatable;
