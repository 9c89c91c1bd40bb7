//! What a profile is read for.

use callgate_core::Arch;

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the host. x32 stands for x86_64, and the n32 ABIs of MIPS for the 64-bit ones.
    pub native: Arch,
    /// Whether a name that no architecture has is an error instead of a warning.
    pub strict: bool,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for a host.
    pub fn new(native: Arch) -> ReadOptions {
        ReadOptions { native, strict: false, statements: false }
    }
}
