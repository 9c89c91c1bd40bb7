//! Classic BPF as text, and the names that people use: assembly, listings, C sources, syscalls and constants.
//!
//! The types are those of `callgate-core`. Nothing here has to be trusted for a proof: a text that is misread becomes another
//! program, which is proved and shown as what it is.
//!
//! - [`asm`] reads assembly, [`text`] any textual form, which it recognises;
//! - [`disasm`] writes all of them;
//! - [`syscalls`] has the numbers of syscalls and their arguments, [`SyscallTable`] adds them to `Arch`;
//! - [`constants`] has the kernel's constants by name, and names the values of arguments;
//! - [`printable`] has the characters that make a text look like another one, and escapes them;
//! - [`diagnostic`] has messages with positions, [`advice`] what to do in the words of each interface, [`suggest`] similar words.
//!
//! ```
//! use callgate_bpf::{SyscallTable, asm};
//! use callgate_core::{Arch, Endian, Program, SeccompData, Verdict};
//!
//! let program = Program::new(asm::assemble("ld nr\njeq #59, no\nret ALLOW\nno: ret ERRNO(EPERM)")?)?;
//! let nr = Arch::X86_64.number("execve").ok_or("no such syscall")?;
//! let run = program.run(&SeccompData { nr, ..SeccompData::default() }, Endian::Little);
//! assert_eq!(run.verdict, Verdict::errno(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod advice;
pub mod asm;
pub mod constants;
mod cursor;
pub mod diagnostic;
pub mod disasm;
mod filter_flags;
mod flow;
mod lexer;
mod named_values;
mod names;
pub mod printable;
pub mod random;
pub mod suggest;
mod symbols;
pub mod syscalls;
pub mod text;
mod token;

pub use filter_flags::FilterFlags;
pub use flow::compared_arches;
pub use named_values::values_by_name;
pub use syscalls::SyscallTable;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
