//! Bodies of the fuzz targets: any bytes go in, and a panic is a defect.
//!
//! `fuzz/fuzz_targets/` runs each under libFuzzer (`cargo +nightly fuzz run NAME`); the test of this package runs
//! each for a second on its corpus and on mutations of it.
//!
//! - [`readers`]: readers take any text and answer with a result or with messages.
//! - [`binary`]: ELF files are analysed or refused.
//! - [`programs`]: engines agree with the reference interpreter, and text forms are read back.
//! - [`policies`]: a compiled program means what the policy says, an optimized one what the program
//!   said, a merged one what the kernel makes of all.
//! - [`convert`]: a policy that was converted means the same in the other language, or permits no more.
//! - [`requests`]: requests of the bindings, which are answered with a result or with messages.
//! - [`c_library`]: functions of `libseccomp.so.2` may be called in any order with any arguments.

pub mod binary;
pub mod bytes;
pub mod c_library;
pub mod convert;
pub mod policies;
pub mod programs;
pub mod readers;
pub mod requests;
mod target;

pub use target::{Target, run, targets};
