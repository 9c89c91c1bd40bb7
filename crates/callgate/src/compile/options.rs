//! Options of a compilation, its phases, and its result.

use callgate_bpf::Program;
use callgate_codegen::{Aim, Model, Weights};
use callgate_proof::diagram::Budget;

/// What to compile for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The kernel.
    pub model: Model,
    /// What comes first.
    pub aim: Aim,
    /// How often each call happens.
    pub weights: Weights,
    /// How much work and memory the diagram may take.
    pub budget: Budget,
}

/// A proved program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compiled {
    /// It means what its description says.
    pub program: Program,
    /// What is known about it.
    pub stats: Stats,
}

/// Facts about a compilation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Instructions in the program.
    pub insns: usize,
    /// Mean number of instructions executed under the weights, see [`expected_insns`](super::expected_insns).
    pub expected_insns: Option<f64>,
    /// How many of the known calls are constant allow.
    pub constant_allow: usize,
    /// Nodes made in the diagram.
    pub nodes: usize,
    /// Whether the program was proved equal to its description. Always true: a program that is not
    /// proved is an error.
    pub proved: bool,
}

/// The end of a part of a compilation, for callers that measure: this crate reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The description has become a program, which is not checked yet.
    Generated,
    /// The program has passed all checks.
    Proved,
}
