//! What a text is read for.

use crate::data::Endian;
use crate::syscalls::Arch;

/// The machine that the program of a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    endian: Endian,
    arch: Option<Arch>,
    usual_arch: Option<Arch>,
}

impl TextOptions {
    /// For machines of a byte order. The architecture is the one that the text compares, if that is only one.
    pub const fn new(endian: Endian) -> TextOptions {
        TextOptions { endian, arch: None, usual_arch: None }
    }

    /// The architecture of the names of syscalls and constants, whatever the text says.
    #[must_use]
    pub const fn with_arch(self, arch: Arch) -> TextOptions {
        TextOptions { arch: Some(arch), ..self }
    }

    /// The architecture for texts that do not say which one they are for.
    #[must_use]
    pub const fn with_usual_arch(self, arch: Arch) -> TextOptions {
        TextOptions { usual_arch: Some(arch), ..self }
    }

    /// The byte order of hexadecimal bytes and of the halves of arguments.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// The given architecture, or else the one that the text is for, or else the usual one.
    pub(crate) fn arch(&self, of_text: impl FnOnce() -> Option<Arch>) -> Option<Arch> {
        self.arch.or_else(of_text).or(self.usual_arch)
    }
}
