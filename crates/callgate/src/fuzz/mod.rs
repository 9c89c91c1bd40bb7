//! The differential fuzzer: do all forms of a filter say the same?
//!
//! The forms are the rules of a policy, the plain program written down from them
//! ([`plain_program`]), and what the compiler made of it. One is the reference, the others are compared
//! with it on many calls:
//!
//! 1. every number that is known or compared with, on every arch token (`candidates.rs`);
//! 2. the edges of every test of every rule;
//! 3. for each side of each branch that no call took so far, a call from the diagram that takes it, or
//!    the proof that there is none ([`reach`](callgate_codegen::query::reach)); so coverage is complete, or the report says what
//!    is missing and why;
//! 4. around each side of each branch, from a call that takes it: every bit flipped, the constant and
//!    its neighbours, the other half of the argument;
//! 5. the arguments of these calls with all numbers that something is compared with;
//! 6. random calls near those seen so far, as many as are asked for.
//!
//! The compiler proves its programs anyway. This looks at them without trusting the diagram: the
//! interpreter runs every call, and a call that takes a side which the diagram says is dead is
//! reported as a defect, as is one that does not go where the diagram says it does.
//!
//! ```
//! use callgate::bpf::{Insn, Op, Program};
//! use callgate::fuzz::{Input, Options, Subject, fuzz};
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
//! let report = fuzz(&input, &Options::default(), &mut |_| true);
//! let first = report.comparisons[0].first.unwrap();
//! assert_eq!(first.data.nr, 41);
//! assert!(report.coverage.iter().all(|program| program.is_complete()));
//! # Ok::<(), callgate::bpf::ProgramError>(())
//! ```

mod candidates;
mod executed;
mod naive;
mod options;
mod report;
mod search;

pub use executed::Edge;
pub use naive::{TooLong, plain_program};
pub use options::{Input, Options, Subject};
pub use report::{Comparison, Contradiction, Coverage, Mismatch, Report};
pub use search::fuzz;

#[cfg(test)]
mod tests;
