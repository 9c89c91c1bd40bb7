//! Compilation with a proof of each program.
//!
//! A program is returned only as [`Proved`](callgate_core::Proved), a type that only the proofs can make: the kernel accepts it
//! (by the type [`Program`](crate::Program)), and symbolic execution of the program yields the same node as its description, or,
//! with [`Aim::Quick`](callgate_codegen::Aim::Quick), it is [proved by cases](callgate_core::Cases). A compilation also asks
//! for a proof that the kernel's own emulator finds each always-allowed syscall constant allow.
//!
//! ```
//! use callgate::compile::{Options, compile};
//! use callgate_core::SyscallSet;
//! use callgate_core::policy::{Condition, Policy, Rule, Section};
//! use callgate_core::{FilterSpec, Spec};
//! use callgate::{Arch, SyscallTable, Verdict};
//!
//! let read = SyscallSet::one(Arch::X86_64.number("read").ok_or("no read(2)")?);
//! let rules = vec![Rule { syscalls: read, when: Condition::always(), verdict: Verdict::ALLOW }];
//! let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//! let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
//! let compiled = compile(&policy, &Options::default())?;
//! assert_eq!(compiled.program.len(), 7);
//! assert_eq!(compiled.program.spec(), &Spec::Filter(FilterSpec::Policy(policy)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_cases;
mod candidates;
mod diagram;
mod error;
mod execution;
mod expected;
mod generate;
mod options;
mod requests;
mod template;
mod too_complex;
mod too_long;

pub use candidates::{compile, compile_observed};
pub(crate) use diagram::Parts;
pub use diagram::diagram;
pub use error::CompileError;
pub use execution::{Execution, InsnShare, SyscallCost};
pub use expected::{Basis, expected_insns, filtered_insns};
pub(crate) use expected::{Executed, mean};
pub(crate) use generate::generate;
pub use generate::{recompile, recompile_observed};
pub use options::{Compiled, CompiledTemplate, Options, Phase, Stats};
pub use requests::{RequestError, RequestOptions, compile_requests};
pub use template::{compile_template, compile_template_observed};
pub use too_long::{LargePart, TooLong};
