//! Limits of the kernel and of the readers.

/// The longest program that the kernel accepts (`BPF_MAXINSNS`).
pub const MAX_INSNS: usize = 4096;

/// The longest program that can be read, to explain or optimize it.
pub const MAX_READ_INSNS: usize = 1 << 16;

/// The number of scratch words (`BPF_MEMWORDS`).
pub const SCRATCH_WORDS: usize = 16;
