//! What a text is read for.

use super::definition::Definition;
use callgate_core::{Arch, Endian};

/// The machine that the program of a text is for, and the macros that are defined without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    endian: Endian,
    arch: Option<Arch>,
    usual_arch: Option<Arch>,
    definitions: Vec<Definition>,
    is_strict: bool,
}

impl TextOptions {
    /// For machines of a byte order. The architecture is the one that the text compares, if that is only one.
    pub const fn new(endian: Endian) -> TextOptions {
        TextOptions {
            endian,
            arch: None,
            usual_arch: None,
            definitions: Vec::new(),
            is_strict: false,
        }
    }

    /// The architecture of the names of syscalls and constants, whatever the text says.
    #[must_use]
    pub fn with_arch(self, arch: Arch) -> TextOptions {
        TextOptions { arch: Some(arch), ..self }
    }

    /// The architecture for texts that do not say which one they are for.
    #[must_use]
    pub fn with_usual_arch(self, arch: Arch) -> TextOptions {
        TextOptions { usual_arch: Some(arch), ..self }
    }

    /// With macros that are defined, or not, before the text is read.
    #[must_use]
    pub fn with_definitions(self, definitions: Vec<Definition>) -> TextOptions {
        TextOptions { definitions, ..self }
    }

    /// Whether what is assumed about a text, such as about the headers that it includes, is an error.
    #[must_use]
    pub fn with_strict(self, is_strict: bool) -> TextOptions {
        TextOptions { is_strict, ..self }
    }

    /// The byte order of hexadecimal bytes and of the halves of arguments.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    pub(super) fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    pub(super) fn is_strict(&self) -> bool {
        self.is_strict
    }

    pub(super) fn given_arch(&self) -> Option<Arch> {
        self.arch
    }

    pub(super) fn usual_arch(&self) -> Option<Arch> {
        self.usual_arch
    }

    /// The given architecture, or else the one that the text is for, or else the usual one.
    pub(crate) fn arch(&self, of_text: impl FnOnce() -> Option<Arch>) -> Option<Arch> {
        self.arch.or_else(of_text).or(self.usual_arch)
    }
}
