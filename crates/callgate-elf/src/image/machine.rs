//! Architectures that can be analysed.

/// The architecture of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86-64",
            Machine::Aarch64 => "aarch64",
        }
    }
}
