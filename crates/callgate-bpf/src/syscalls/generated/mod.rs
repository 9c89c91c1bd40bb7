//! The committed output of `cargo xtask syscalls`.

pub(super) mod facts;
pub(super) mod multiplexed;
pub(super) mod numbers;
