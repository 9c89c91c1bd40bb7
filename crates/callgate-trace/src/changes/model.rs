//! Differences between two recordings.

use crate::recording::SyscallId;

/// What changed between the recordings of two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The old recordings.
    pub old: Side,
    /// The new recordings.
    pub new_side: Side,
    /// How many syscalls and values were compared.
    pub compared: usize,
    /// How many runs of each version are enough for one difference to be significant alone; `None` if there are as many, or
    /// if a difference is significant anyway.
    pub too_few: Option<u64>,
    /// What only new runs did, ordered by architecture and number.
    pub new: Vec<Change>,
    /// What only old runs did.
    pub disappeared: Vec<Change>,
}

/// The size of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The number of runs, at least 1.
    pub runs: u64,
    /// The number of different syscalls.
    pub syscalls: usize,
}

/// A syscall or a value that only one of the two versions used.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The syscall.
    pub syscall: SyscallId,
    /// What of it.
    pub what: Changed,
    /// In how many old runs it was seen.
    pub old: u64,
    /// In how many new runs it was seen; 0 for values of an argument of which too many were seen to list them.
    pub new: u64,
    /// The probability of such a difference if both versions behave alike; `None` if the number of runs is not known.
    pub chance: Option<f64>,
    /// Whether the difference is more than chance.
    pub is_significant: bool,
}

/// What of a syscall changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The syscall itself.
    Syscall,
    /// A value of an argument.
    Value {
        /// The number of the argument, from 0.
        arg: u8,
        /// The name of the argument.
        name: &'static str,
        /// The bits that are compared.
        mask: u64,
        /// The value of these bits.
        value: u64,
    },
    /// An argument had too many values to list them.
    ManyValues {
        /// The number of the argument, from 0.
        arg: u8,
        /// The name of the argument.
        name: &'static str,
    },
}
