//! Callgate's C library: compiles, explains, compares and installs seccomp filters.
//!
//! `include/callgate.h` declares and documents the functions for C; `docs/how-to/filters-in-c.md` has an example.
//!
//! | module | what it does |
//! |---|---|
//! | `abi` | the functions, and all `unsafe` code |
//! | `error` | errors, diagnostics and status codes |
//! | `program` | compiled programs and templates as C reads them |
//! | `source` | sources and their limits |
//! | `wording` | advice about sources in the words of the functions |
//!
//! # Invariants
//!
//! - No function unwinds into C: a panic is an error with the status `CALLGATE_INTERNAL`.
//! - Each pointer of an argument is checked for null, and each length for its limit, before anything is read.
//! - The library keeps no global state: calls with different handles can run concurrently.

pub mod abi;
mod error;
mod program;
mod source;
mod wording;
