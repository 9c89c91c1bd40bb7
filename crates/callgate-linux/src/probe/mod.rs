//! Asks the running kernel for the verdicts of syscalls under a program, without executing any of them.
//!
//! The program is [`Marked`] first: whatever its verdicts are, no syscall is executed and no process is killed.
//! [`Marked`] also documents which syscalls cannot be probed.

mod ask;
mod marked;

pub use ask::{ProbeAnswer, probe};
pub use marked::{Marked, ProbeError, is_never_filtered};
