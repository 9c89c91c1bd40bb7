//! Limits of recordings.

/// The largest count of a syscall; larger sums saturate.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// How many distinct values of an argument are kept.
pub const MAX_VALUES: usize = 32;

/// How many different syscalls a recording may have: more than all architectures define together.
pub(crate) const MAX_SYSCALLS: usize = 16_384;

/// How many runs a recording in JSON may have.
pub(crate) const MAX_RUNS: usize = 10_000;

/// How many labels a run may have.
pub const MAX_LABELS: usize = 64;
