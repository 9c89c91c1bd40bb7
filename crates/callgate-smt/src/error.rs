//! The error of the translation.

/// A program contains an instruction that seccomp does not accept: a defect of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untranslatable {
    pub(crate) instruction: usize,
}

impl std::fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.instruction;
        write!(f, "instruction {at} cannot be translated to SMT-LIB (a defect of callgate)")
    }
}

impl std::error::Error for Untranslatable {}
