//! The code generator: from a function of the diagram to a program.
//!
//! ```text
//! diagram ──lower──> code graph ──layout──> instructions
//!            │  numbers, twin: which runs of values there are
//!            │  tree: search trees for runs of values
//!            └─ word: masks for argument words
//! ```
//!
//! What comes out is not trusted: [`compile`](crate::compile) executes it symbolically and compares.

mod code;
mod cost;
mod layout;
mod lower;
mod numbers;
mod tree;
mod twin;
mod weights;
mod word;

pub use cost::{Aim, Model};
pub use weights::{WeightError, WeightedCall, Weights};

use crate::bpf::Insn;
use crate::data::Endian;
use crate::diagram::{Func, OutOfBudget, Store};

/// How many functions of arguments are looked at in every way. Real filters need some thousands at
/// most; beyond, code is still made, by the plain ways only.
const EFFORT: u32 = 20_000;

/// The instructions of a program for a function. They may be more than the kernel accepts.
pub(crate) fn generate(
    store: &mut Store,
    root: Func,
    calls: &[WeightedCall],
    model: Model,
    aim: Aim,
    endian: Endian,
) -> Result<Vec<Insn>, OutOfBudget> {
    let mut attempt = |effort: u32| {
        store.begin();
        let mut lowering = lower::Lowering::new(store, root, calls, model, aim, effort);
        let entry = lowering.code(root)?;
        let graph = lowering.graph;
        let frequency = layout::frequencies(&graph, entry, calls);
        Ok(layout::lay_out(&graph, entry, &frequency, endian))
    };
    // A search that takes too long is no reason to refuse a filter.
    attempt(EFFORT).or_else(|_: OutOfBudget| attempt(0))
}
