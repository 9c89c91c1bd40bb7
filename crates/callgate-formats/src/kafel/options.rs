//! What a policy is read for.

use callgate_bpf::syscalls::Arch;

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architectures of the filter, at least one. A syscall that one of them lacks is an error, unless the policy
    /// restricts it with `ON`.
    pub arches: Vec<Arch>,
}

impl ReadOptions {
    /// Reads for one architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions { arches: vec![arch] }
    }
}
