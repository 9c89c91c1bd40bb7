//! What options default to: the architecture of this machine.

use callgate::{Arch, Endian};

use crate::report::{Failure, Result};

/// The byte order of this machine.
pub(crate) const NATIVE_ENDIAN: Endian =
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// The architecture of this machine.
pub(crate) fn native_arch() -> Result<Arch> {
    Arch::native().ok_or_else(|| {
        Failure::new(format!(
            "unsupported architecture of this machine: {}",
            std::env::consts::ARCH
        ))
        .help("select an architecture with --arch")
    })
}
