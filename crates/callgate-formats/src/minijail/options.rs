//! What a policy is read for, and what the reader returns.

use crate::profile::Profile;
use callgate_core::Arch;

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the filter.
    pub arch: Arch,
    /// Tells the policy from its included files, as [`Included::identity`](super::Included::identity); `None` if it is not
    /// known.
    pub identity: Option<String>,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for an architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions { arch, identity: None, statements: false }
    }
}

/// A policy, and how often its syscalls occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinijailPolicy {
    /// The policy.
    pub profile: Profile,
    /// The counts of the files that `@frequency` names, in the order of the names; equal names are added.
    pub frequencies: Vec<Frequency>,
}

/// How often a syscall occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The name of the syscall.
    pub name: &'static str,
    /// Its count.
    pub count: u64,
}
