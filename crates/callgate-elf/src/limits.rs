//! Limits of the analysis, so that time and memory are bounded for every input.

/// Largest file, in bytes.
pub const MAX_FILE: u64 = 1 << 30;
/// Files of one program.
pub const MAX_FILES: usize = 1024;
/// Program headers, which programs have about ten of.
pub(crate) const MAX_SEGMENTS: u64 = 256;
/// Section headers.
pub(crate) const MAX_SECTIONS: u64 = 1 << 16;
/// Entries of the dynamic section.
pub(crate) const MAX_DYNAMIC: u64 = 1 << 14;
/// Symbols of a table.
pub(crate) const MAX_SYMBOLS: u64 = 1 << 23;
/// Relocations of a file.
pub(crate) const MAX_RELOCATIONS: u64 = 1 << 24;
/// Functions of a file.
pub(crate) const MAX_FUNCTIONS: u64 = 1 << 23;
/// References of the code of a file.
pub(crate) const MAX_REFERENCES: u64 = 1 << 26;
/// Instructions of a function whose values are computed.
pub(crate) const MAX_FUNCTION_INSNS: usize = 1 << 17;
/// Instructions that are executed abstractly in one analysis.
pub(crate) const MAX_STEPS: u64 = 100_000_000;
/// Constants that a register may hold; with more, it may hold any value.
pub(crate) const MAX_ATOMS: usize = 64;
/// Words of a stack frame whose values are tracked.
pub(crate) const MAX_SLOTS: usize = 256;
/// Length of a name, in bytes. Names of C++ may be long.
pub(crate) const MAX_NAME: usize = 1 << 12;
