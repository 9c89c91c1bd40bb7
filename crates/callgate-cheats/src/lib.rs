//! Tries to get a wrong program out of Callgate as [`Proved`](callgate_core::Proved).
//!
//! Each example below is an attempt that the compiler must refuse. Beside it is the same code without the cheat, which it must
//! accept: so an attempt fails for its cheat, and not because of a name that no longer exists.
//!
//! `tests/` checks what comes out of every way to compile: `.ci/cheats` runs it with errors in the untrusted crates.
//!
//! # The fields are private
//!
//! ```
//! # use callgate_core::{Program, Proved, Spec};
//! fn honest(proved: Proved) -> (Spec, Program) {
//!     (proved.spec().clone(), proved.into_program())
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved, Spec};
//! # use std::sync::Arc;
//! fn cheat(program: Program, spec: Arc<Spec>) -> Proved {
//!     Proved { program, spec }
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved};
//! fn cheat(program: Program, proved: Proved) -> Proved {
//!     Proved { program, ..proved }
//! }
//! ```
//!
//! # There is no constructor and no conversion
//!
//! ```
//! # use callgate_core::{Endian, Program, Proved};
//! fn honest(program: Program) -> Proved {
//!     Proved::itself(program, Endian::NATIVE) // it computes what it computes, and its spec says so
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved, Spec};
//! # use std::sync::Arc;
//! fn cheat(program: Program, spec: Arc<Spec>) -> Proved {
//!     Proved::new(program, spec)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved};
//! fn cheat(program: Program) -> Proved {
//!     program.into()
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::Proved;
//! fn cheat() -> Proved {
//!     Proved::default()
//! }
//! ```
//!
//! # It cannot be changed
//!
//! ```
//! # use callgate_core::{Insn, Proved};
//! fn honest(proved: &Proved) -> &[Insn] {
//!     proved.insns()
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved};
//! fn cheat(proved: &mut Proved, program: Program) {
//!     **proved = program;
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Program, Proved};
//! fn cheat(proved: &mut Proved, mut program: Program) {
//!     std::mem::swap(&mut **proved, &mut program);
//! }
//! ```
//!
//! # It can be written, but not read
//!
//! ```
//! # use callgate_core::{Program, Proved};
//! fn writes<T: serde::Serialize>() {}
//! fn reads<T: serde::de::DeserializeOwned>() {}
//! writes::<Proved>();
//! reads::<Program>();
//! ```
//! ```compile_fail
//! # use callgate_core::Proved;
//! fn reads<T: serde::de::DeserializeOwned>() {}
//! reads::<Proved>();
//! ```
//!
//! # Observers do not answer, and nobody writes to the store of a meaning
//!
//! ```
//! # use callgate_core::diagram::{Budget, DiagramError};
//! # use callgate_core::{Meaning, policy::Policy};
//! fn honest(policy: &Policy) -> Result<Meaning, DiagramError> {
//!     let meaning = Meaning::of_policy_observed(policy, Budget::default(), &mut |_| ())?;
//!     let (_, _) = (meaning.store(), meaning.func());
//!     Ok(meaning)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::diagram::{Budget, DiagramError, Func};
//! # use callgate_core::{Meaning, policy::Policy};
//! fn cheat(policy: &Policy, other: Func) -> Result<Meaning, DiagramError> {
//!     Meaning::of_policy_observed(policy, Budget::default(), &mut |_| other)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Meaning, diagram::Func};
//! fn cheat(meaning: &mut Meaning, other: Func) {
//!     meaning.func = other;
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Meaning, Verdict};
//! fn cheat(meaning: &Meaning) {
//!     let store = meaning.store();
//!     let _ = store.verdict(Verdict::ALLOW); // needs the store for writing
//! }
//! ```
//!
//! # Nobody else makes cases
//!
//! ```
//! # use callgate_core::{Cases, policy::Policy};
//! fn honest(policy: &Policy) -> Option<Cases> {
//!     Cases::of_policy(policy)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Cases, policy::Policy};
//! fn cheat(cases: Cases, policy: Policy) -> Cases {
//!     Cases { policy, ..cases }
//! }
//! ```
//!
//! # A program is always accepted, and for one structure
//!
//! ```
//! # use callgate_core::{Insn, Program, ProgramError};
//! fn honest(insns: Vec<Insn>) -> Result<Program, ProgramError> {
//!     Program::new(insns)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Insn, LongProgram, Program};
//! fn cheat(long: LongProgram) -> Program {
//!     Program(long)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Meaning, NotProved, Program, Proved, io_uring::IoUringRequest};
//! fn cheat(meaning: &mut Meaning, program: &Program<IoUringRequest>) -> Result<Proved, NotProved> {
//!     meaning.prove(program)
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::{Endian, FilterInput, Layout, Verdict, Word};
//! #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
//! struct Mine;
//! impl FilterInput for Mine {
//!     type Verdict = Verdict;
//!     fn layout(_: Endian) -> Layout { Layout::Seccomp }
//!     fn verdict(_: u32) -> Verdict { Verdict::ALLOW }
//!     fn get(&self, _: Word, _: Endian) -> u32 { 0 }
//!     fn set(&mut self, _: Word, _: Endian, _: u32) {}
//!     fn load(&self, _: u32, _: Endian) -> Option<u32> { None }
//! }
//! ```
//!
//! # What is not proved is not installed without a word
//!
//! ```
//! # use callgate_core::{Program, Proved};
//! # use callgate_linux::{FilterFlags, install, install_unproved};
//! fn honest(proved: &Proved, program: &Program) {
//!     let _ = install(proved, FilterFlags::NONE);
//!     let _ = install_unproved(program, FilterFlags::NONE);
//! }
//! ```
//! ```compile_fail
//! # use callgate_core::Program;
//! # use callgate_linux::{FilterFlags, install};
//! fn cheat(program: &Program) {
//!     let _ = install(program, FilterFlags::NONE);
//! }
//! ```
#![forbid(unsafe_code)]
