//! Part of the command `callgate`, without a stable interface.
//!
//! The syscalls that the code of ELF files can make, for x86-64 and aarch64.
//!
//! [`analyze`] takes a program with its libraries and answers with an upper bound: the numbers that the syscall
//! instructions of all reachable functions can have. Syscalls whose numbers it cannot compute are listed with their
//! place, and so is what makes the bound incomplete, such as libraries that are loaded while the program runs.
//!
//! - `image`: what the loader sees of a file, and the bounds of functions.
//! - `code`: what instructions refer to, and what they do to registers and memory.
//! - `reach`: which functions can be executed.
//! - `values`: which constants registers hold.
//! - `numbers`: the numbers of syscalls, also those that callers pass.
//!
//! The crate reads bytes and does no I/O. Time and memory are bounded for every input (`limits`).

#![forbid(unsafe_code)]

mod analysis;
mod code;
mod error;
mod image;
mod limits;
mod numbers;
mod program;
mod reach;
mod remark;
mod values;

pub use analysis::{Analysis, File, Role, Site, Unresolved, analyze};
pub use error::ElfError;
pub use image::{Image, Machine};
pub use limits::{MAX_FILE, MAX_FILES};
pub use remark::Remark;
