//! A differential fuzzer: compares all forms of a filter.
//!
//! The forms are the rules of a policy, the plain program generated from them ([`plain_program`]), and compiled
//! programs. One is the reference; the others are compared with it for many syscalls:
//!
//! 1. every number that is known or occurs as a constant, on every arch token (`candidates.rs`);
//! 2. the boundary values of every test of every rule;
//! 3. for each edge of each branch that was not taken so far, a syscall from the diagram that takes it, or the proof
//!    that there is none ([`reach`](callgate_codegen::query::reach)); so coverage is complete, or the report lists
//!    what is missing, with the reason;
//! 4. variations of a syscall that takes an edge, for each edge: every bit flipped, the constant and its neighbours,
//!    the other half of the argument;
//! 5. the arguments of these syscalls with all numbers that occur as constants;
//! 6. a given number of random syscalls near the former.
//!
//! The compiler proves its programs anyway. The fuzzer does not trust the diagram: the interpreter runs every syscall,
//! and the report contains a contradiction if a syscall takes an edge that the diagram considers dead, or does not take
//! the edge that it should.
//!
//! [`fuzz`] compares the forms of one filter; [`fuzz_pair`] compares two filters with each other, by the same search.
//!
//! ```
//! use callgate_core::{Insn, Op, Program};
//! use callgate::fuzz::{Input, Search, Subject, fuzz};
//! use callgate::{Arch, Endian, Verdict};
//!
//! let ret = |errno| Insn::new(Op::RetK, Verdict::errno(errno).0);
//! let filter = |k| Program::new(vec![
//!     Insn::new(Op::LdWordAbs, 0),
//!     Insn::branch(Op::JeqK, k, 0, 1),
//!     ret(1),
//!     ret(2),
//! ]);
//! let subjects = [Subject::new("one", filter(41)?), Subject::new("other", filter(42)?)];
//! let input = Input { policy: None, programs: &subjects, arches: &[Arch::X86_64], endian: Endian::Little };
//! let report = fuzz(&input, &Search::default(), &mut |_| true);
//! let first = report.comparisons[0].first.unwrap();
//! assert_eq!(first.data.nr, 41);
//! assert!(report.coverage.iter().all(|program| program.is_complete()));
//! # Ok::<(), callgate_core::ProgramError>(())
//! ```

mod candidates;
mod pair;
mod report;
mod search;

#[cfg(test)]
mod tests;

pub use crate::plain_program::{PlainProgramError, plain_program};
pub use pair::{Member, Pair, Side, fuzz_pair};
pub use report::{
    Comparison, Contradiction, Coverage, Edge, Input, Mismatch, Report, Search, Subject,
    WithoutCoverage,
};
pub use search::fuzz;
