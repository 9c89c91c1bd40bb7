//! Criterion benches for callgate; see `compile.rs`.
