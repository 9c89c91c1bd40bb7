//! What changed between the recordings of two versions of a program: new and disappeared syscalls and argument values, each
//! with the number of runs on both sides, and whether the difference is more than chance.
//!
//! # By chance
//!
//! `a` of `n` old runs made a syscall, and `b` of `m` new runs. If both versions behave alike, the `a + b` runs that made
//! it are a random choice of the `n + m` runs. The probability of a difference that is at least as unlikely as the
//! recorded one is that of Fisher's exact test, two-sided (*The logic of inductive inference*, J. R. Stat. Soc. 98, 1935).
//!
//! A recording has hundreds of syscalls, so a few of them differ by chance. Differences are called significant by the
//! procedure of Benjamini and Hochberg (*Controlling the false discovery rate*, J. R. Stat. Soc. B 57, 1995) over all
//! syscalls and values that were compared: of those called so, at most 5 % are expected to be chance.
//!
//! # Limits
//!
//! Runs are assumed to be independent of each other and of one kind on each side: a syscall that depends on the time of the
//! day differs between versions that were recorded at different times. Values are compared for the arguments that
//! generated profiles limit, if all of them are known on both sides; bits that profiles do not compare are ignored, and
//! so are values that profiles always allow. If an argument had too many values to list
//! ([`MAX_VALUES`](crate::recording::MAX_VALUES)), values within its old bounds are not known to be new, and none are known to
//! have disappeared.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_trace::changes::changes;
//! use callgate_trace::recording::{Recording, Run, SyscallId};
//!
//! let run = |nr| {
//!     let mut recording = Recording::of(Run::default());
//!     recording.count(SyscallId::new(Arch::X86_64, nr), 1);
//!     recording
//! };
//! let found = changes(&run(2), &run(257));
//! assert_eq!(found.new[0].syscall.name(), Some("openat"));
//! assert_eq!(found.disappeared[0].syscall.name(), Some("open"));
//! // One run on each side says nothing.
//! assert!(!found.new[0].is_significant);
//! ```

mod compare;
mod exact;
mod model;
mod significance;
mod values;

pub use compare::changes;
pub use model::{Change, Changed, Changes, Side};

#[cfg(test)]
mod tests;
