//! Inputs of the benchmarks: policies and programs of all sizes.
//!
//! Besides the project's own inputs, benchmarks read directories from the environment:
//! - `CALLGATE_BENCH_PROFILES`: profiles (`*.json`), compiled for x86_64 alone and with x86 and x32;
//! - `CALLGATE_BENCH_FILTERS`: programs (`*.bpf`, little-endian), symbolically executed and compiled again;
//! - `CALLGATE_BENCH_WEIGHTS`: frequencies of syscalls, in any form that `--weights` reads.

mod inputs;

pub use inputs::{ONE, THREE, profiles, programs, reading, synthetic, texts};
