//! The input of the fuzzer, and its options.

use callgate_bpf::Program;
use callgate_bpf::data::Endian;
use callgate_bpf::syscalls::Arch;
use callgate_proof::diagram::Budget;
use callgate_proof::policy::Policy;

/// A program that is compared, with a name for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// As the report calls it.
    pub name: String,
    /// What runs.
    pub program: Program,
}

impl Subject {
    /// A program with a name.
    pub fn new(name: impl Into<String>, program: Program) -> Subject {
        Subject { name: name.into(), program }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The rules; they are the reference. Without them the first program is.
    pub policy: Option<&'a Policy>,
    /// The programs.
    pub programs: &'a [Subject],
    /// The architectures that the filter is about.
    pub arches: &'a [Arch],
    /// The byte order of the machines that it is for.
    pub endian: Endian,
}

/// How long to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where random choices begin; the same seed gives the same calls.
    pub seed: u64,
    /// How many random calls follow when all else is done.
    pub runs: u64,
    /// What the diagram of one program may take.
    pub budget: Budget,
}

impl Default for Options {
    /// 20,000 random calls from a fixed seed.
    fn default() -> Options {
        Options { seed: 1, runs: 20_000, budget: Budget::default() }
    }
}
