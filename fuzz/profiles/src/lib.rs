//! Random container profiles, and an evaluator that shares no code with Callgate's reader.
//!
//! Both read the text of a profile. Callgate compiles it to a program, which a small machine here runs on calls
//! around the profile's constants; the evaluator says what the runtime's filter would return, from the
//! programs' sources and the specifications. Where they differ, one of them is wrong.
//!
//! - [`generate`]: profiles by seed, in favour of what programs read differently
//! - [`json`], [`document`]: the text, as Go's, yajl's and the schema's readers see it
//! - [`runtime`]: which rules a runtime makes of it, or why it refuses
//! - [`rule`], [`rules`], [`tree`]: what libseccomp makes of the rules
//! - [`machine`]: architectures and numbers
//! - [`bpf`], [`judge`], [`shrink`]: comparing, and the smallest profile that shows a difference

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
