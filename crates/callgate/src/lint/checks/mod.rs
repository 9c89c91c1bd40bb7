//! The checks. Each file has a few groups, their facts above their code.

pub(super) mod abis;
pub(super) mod alternatives;
pub(super) mod arguments;
pub(super) mod library;
pub(super) mod powerful;
pub(super) mod rules;
pub(super) mod whole;
