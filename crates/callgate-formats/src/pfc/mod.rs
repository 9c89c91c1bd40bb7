//! libseccomp's pseudo filter code, and its reader: the text that `seccomp_export_pfc(3)` writes.
//!
//! ```text
//! # filter for arch x86_64 (3221225534)
//! if ($arch == 3221225534)
//!   # filter for syscall "write" (1) [priority: 65533]
//!   if ($syscall == 1)
//!     if ($a0.hi32 == 0)
//!       if ($a0.lo32 == 1)
//!         action ALLOW;
//!   # default action
//!   action ERRNO(1);
//! # invalid architecture action
//! action KILL;
//! ```
//!
//! - Indentation is the structure. An `if` whose block decides nothing is followed by the next line of its level, so the first
//!   `action` that is reached decides.
//! - `$a0` is an argument of a 32-bit architecture, `$a0.hi32` and `$a0.lo32` are the words of one of a 64-bit architecture. In
//!   `if ($a0.lo32 & 0x0000000f == 5)` the mask is applied first.
//! - x86_64 and x32 have the same number in `$arch`; the comment before it tells them apart, or without one the numbers of the
//!   syscalls. As in libseccomp's programs, the numbers of the one that the text does not have get the action for other
//!   architectures.
//! - Numbers from 2^31 on are those that libseccomp gives to syscalls that the architecture does not have. Its programs do not
//!   compare them, except 4294967295.
//! - Other comments mean nothing. A warning tells of one that names another syscall than the number below it.
//!
//! The text may be among other output of a program. It must be complete: a text without the last action of an architecture, or
//! the action for other architectures, is refused, and so is one that lost its indentation.
//!
//! Programs of libseccomp do not always do what this text says, because of the defects that [`ruleset`](crate::ruleset)
//! describes. The text is what is read.
//!
//! Sources: `src/gen_pfc.c` and `src/gen_bpf.c` of libseccomp 2.1 to 2.6.1. Numbers of syscalls may be negative up to 2.3; the
//! search tree of `$syscall >` is from 2.5 on.
//!
//! Limits: 10 MiB of text, 64 levels, 150,000 comparisons.

mod blocks;
mod language;
mod lines;
mod read;
mod words;

#[cfg(test)]
mod tests;

pub use language::LANGUAGE;
pub use read::{ReadOptions, read};
