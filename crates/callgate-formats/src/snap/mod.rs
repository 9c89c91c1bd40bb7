//! Snap seccomp profiles, the input of snapd's snap-seccomp, and their reader.
//!
//! The language is that of `cmd/snap-seccomp/main.go` of snapd 2.63 and later; how the filters are installed is in
//! `cmd/snap-confine/seccomp-support.c`.
//!
//! - A line is a syscall, then up to six words for its arguments: `-` (any), a number or constant, `!`, `<`, `<=`, `>`, `>=`
//!   before one, `|BITS` (all bits are set), `MASK|VALUE`, `u:USER` and `g:GROUP`. All must hold.
//! - Without a rule, a syscall fails with EPERM; with `@complain`, it is logged. `@unrestricted` means no filter.
//! - `~` before the syscall denies with EACCES. These rules are a second filter, which is installed first and allows all
//!   other syscalls.
//! - Both filters also have x86 on x86_64, arm on arm64 and ppc on ppc64; other architectures kill the thread.
//! - Negative numbers, with 32 bits, are only for the syscalls that take user and group IDs, and for `copy_file_range`;
//!   for these, equality is the only comparison, and it ignores the high halves of the registers.
//! - libseccomp combines the rules, see [`ruleset`](crate::ruleset).
//!
//! Names of users and groups stand for numbers of the host, so the caller gives them; without a number, they are an error.
//! Unknown syscalls are skipped, with a warning.
//!
//! Limits: 150,000 comparisons, counted for each architecture; 65,535 bytes per line, because snap-seccomp stops reading
//! at a longer one.

mod constants;
mod language;
mod line;
mod read;
mod write;

pub use constants::value as constant;
pub use language::LANGUAGE;
pub(crate) use line::takes_ids;
pub use line::{IdKind, Ids, ReadOptions, system_id};
pub(crate) use read::compat_arch;
pub use read::{SnapFilters, read};
