//! Both passes over a program.

use callgate_core::Insn;

use super::simplified::{Flow, Input};
use super::{facts, live};

impl Flow {
    /// Analyses and simplifies an accepted program.
    pub(crate) fn of(insns: &[Insn], input: Input) -> Flow {
        let mut flow = facts::forward(insns, input);
        live::backward(&mut flow);
        flow
    }
}
