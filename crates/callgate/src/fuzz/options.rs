//! The input of the fuzzer, and its options.

use callgate_core::diagram::Budget;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, Program};

/// A program to be compared, with its name in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name in the report.
    pub name: String,
    /// The program.
    pub program: Program,
}

impl Subject {
    /// A program with a name.
    pub fn new(name: impl Into<String>, program: Program) -> Subject {
        Subject { name: name.into(), program }
    }
}

/// The forms of a filter to be compared.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The rules, which are the reference. Without them, the first program is the reference.
    pub policy: Option<&'a Policy>,
    /// The programs.
    pub programs: &'a [Subject],
    /// The architectures of the filter.
    pub arches: &'a [Arch],
    /// The byte order of the machines that the filter is for.
    pub endian: Endian,
}

/// Options of the fuzzer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of the random choices; the same seed gives the same syscalls.
    pub seed: u64,
    /// The number of random syscalls.
    pub runs: u64,
    /// The budget of the diagram of each program.
    pub budget: Budget,
}

impl Default for Options {
    /// 20,000 random syscalls with a fixed seed.
    fn default() -> Options {
        Options { seed: 1, runs: 20_000, budget: Budget::default() }
    }
}
