//! Lists of syscalls from which Android's C library, bionic, generates its seccomp filters, and their reader.
//!
//! The language is that of `libc/tools/genseccomp.py` and of the parser in `libc/tools/gensyscalls.py`; how the filters
//! are installed is in `libc/seccomp/seccomp_policy.cpp`.
//!
//! - `SYSCALLS.TXT` has the syscalls of the C library. A filter allows them, without those of its block lists, and with
//!   those of its allow lists, which win. All other syscalls are trapped ([`FilterKind`] says which lists a filter has).
//! - An entry is `function[|alias,…][:syscall[:number]](parameters) architectures`. Without `:`, the function has the name
//!   of the syscall. Aliases, the number of a sub-call of `socketcall` and parameters do not matter. Until Android 15, a
//!   type stands before the function.
//! - Architectures are `all`, or a list of `lp32`, `lp64`, `arm`, `arm64`, `x86`, `x86_64`, `riscv64`, `mips` and `mips64`,
//!   with commas and without blanks.
//! - A filter is for all architectures of a host ([`arches`]), and traps the others.
//! - `SECCOMP_PRIORITY.TXT` has names of syscalls in the order in which the program compares their numbers first. If an
//!   architecture has one with a number below those of all syscalls without priority, the program traps it, because it
//!   compares the lowest of these first.
//! - The filter of app zygotes ignores the lines of the block list that begin with `setresgid`, with or without `int`
//!   before it, as the build of bionic does.
//!
//! What genseccomp.py refuses is an error: syntax errors, syscalls that an architecture lacks, blocked syscalls that are not
//! in `SYSCALLS.TXT`. Unknown names are errors even if they are blocked.
//!
//! Numbers are those of [`Arch`](callgate_core::Arch), and not those of bionic's copy of the kernel's headers.
//! Names that only arm has begin with `__ARM_NR_`, as in these headers.

mod language;
mod line;
mod lists;
mod options;
mod read;

pub use crate::files::{FileErrors, FileMessage};
pub use language::LANGUAGE;
pub use line::{arches_of as arches, is_entry};
pub use options::{AndroidPolicy, FilterKind, ListFile, ListKind, ListText, ReadOptions};
pub use read::read;
