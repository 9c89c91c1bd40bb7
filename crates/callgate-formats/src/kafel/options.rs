//! What a policy is read for.

use callgate_core::Arch;

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architectures of the filter, at least one. A syscall that one of them lacks is an error, unless the policy
    /// restricts it with `ON`.
    pub arches: Vec<Arch>,
    /// Tells the policy from its included files, as [`Included::identity`](super::Included::identity); `None` if it is not
    /// known.
    pub identity: Option<String>,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for one architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions::for_arches(vec![arch])
    }

    /// Reads for these architectures.
    pub fn for_arches(arches: Vec<Arch>) -> ReadOptions {
        ReadOptions { arches, identity: None, statements: false }
    }
}
