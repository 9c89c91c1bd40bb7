//! A case in which an engine does not return what the reference interpreter returns.

use std::fmt;

use callgate_core::Insn;

use crate::engine::EngineError;
use crate::kind::EngineKind;

/// A case in which an engine does not return what the reference returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub(super) seed: u64,
    pub(super) engine: EngineKind,
    pub(super) program: String,
    pub(super) input: String,
    pub(super) expected: u32,
    pub(super) given: Result<u32, EngineError>,
}

impl Difference {
    /// The seed of the program and its inputs; [`check`](super::check()) reproduces the difference.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The engine.
    pub fn engine(&self) -> EngineKind {
        self.engine
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seed, engine, program, input, expected, given } = self;
        write!(f, "seed {seed}: the reference returns {expected:#x}, {engine} ")?;
        match given {
            Ok(value) => write!(f, "{value:#x}")?,
            Err(error) => write!(f, "fails: {error}")?,
        }
        write!(f, ", for {input} and the program\n{program}")
    }
}

impl std::error::Error for Difference {}

/// One instruction per line.
pub(crate) fn listing(insns: &[Insn]) -> String {
    insns.iter().enumerate().map(|(at, insn)| format!("{at:>4}: {insn}\n")).collect()
}
