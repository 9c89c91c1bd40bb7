//! The committed output of `cargo xtask syscalls`.

pub(super) mod multiplexed;
pub(super) mod table;
