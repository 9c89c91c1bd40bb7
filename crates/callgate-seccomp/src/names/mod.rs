//! Names and numbers of syscalls, as libseccomp resolves them.
//!
//! libseccomp has a number for every syscall on every architecture. A syscall that an architecture lacks has a negative
//! **pseudo number** there, and so does a syscall that an architecture multiplexes through `socketcall` or `ipc`, even
//! if it can be made directly as well.
//!
//! ```
//! use callgate::Arch;
//! use seccomp::names::{name, number, rewritten};
//!
//! assert_eq!(number(Arch::X86_64, "socket"), Some(41));
//! assert_eq!(number(Arch::X86, "socket"), Some(-101));
//! assert_eq!(rewritten(Arch::X86, "socket"), Some(102)); // socketcall
//! assert_eq!(name(Arch::X86, 359), Some("socket"));
//! assert_eq!(number(Arch::Aarch64, "vm86"), Some(-10071));
//! ```

mod pseudo;
mod resolve;

pub use pseudo::PSEUDO_NUMBERS;
pub use resolve::{name, number, rewritten};
