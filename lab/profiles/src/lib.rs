//! Random container profiles, and an evaluator that shares no code with Callgate's reader.
//!
//! Both read the text of a profile. Callgate compiles it to a program, which a small interpreter runs on syscalls
//! near the profile's constants. The evaluator predicts the verdicts of the runtime's filter; it is written from
//! the sources of the runtimes and the specifications. If they differ, one of them is wrong.
//!
//! - [`generate`]: random profiles by seed, biased towards what programs read differently
//! - [`json`], [`document`]: the text, as Go, yajl and the schema interpret it
//! - [`runtime`]: the rules of a runtime for a profile, or why it refuses the profile
//! - [`rule`], [`rules`], [`tree`]: libseccomp's interpretation of rules
//! - [`machine`]: architectures and syscall numbers
//! - [`bpf`], [`judge`], [`shrink`]: comparison, and minimization of differences

pub mod bpf;
pub mod document;
pub mod generate;
pub mod json;
pub mod judge;
pub mod machine;
pub mod rng;
pub mod rule;
pub mod rules;
pub mod runtime;
pub mod shrink;
pub mod tree;
