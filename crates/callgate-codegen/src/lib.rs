//! The code generator: from a function of the diagram to a program.
//!
//! ```text
//! diagram ──lower──> code graph ──layout──> instructions
//!            │  entry: the order of a call's arguments
//!            │  numbers, twin: which runs of values there are
//!            │  tree: search trees for runs of values
//!            └─ word: masks for argument words
//! ```
//!
//! What comes out is not trusted: [`Meaning::prove`](callgate_proof::Meaning::prove) executes it symbolically and compares.
//!
//! # Weights, and the prior
//!
//! A tree is best for calls that happen so and so often. [`Weights`] say how often; a [`Model`] says
//! which calls pay at all. Without weights, this is assumed ([`Weights::uniform`]):
//!
//! - *Each call of the filter's first architecture that is always allowed happens equally often.* These
//!   are the calls that programs under the filter make; which of them are frequent differs from workload
//!   to workload by orders of magnitude, so a wrong guess would cost more than none. It is also what
//!   figures of other compilers are compared by.
//! - *Always-allowed calls without weight have a tenth of all weight together*: those of further
//!   architectures (x86 and x32 on x86-64), which are there for compatibility, and with counts those that
//!   the recording did not see.
//! - *Calls that are not always allowed have a hundredth together.* A denied call is rare in a program
//!   that works, and returns at once. A call whose arguments decide is made, but how often is as unknown;
//!   give weights where it matters.
//!
//! All calls that have weight under the prior are always allowed, and so scaled alike by every model:
//! without weights, the models make the same program. They differ as soon as weights have calls of both
//! kinds.

mod code;
pub mod cost;
mod entry;
mod layout;
mod lower;
mod numbers;
pub mod query;
mod tree;
mod twin;
mod weights;
mod word;

pub use cost::{Aim, Model};
pub use weights::{Count, WeightError, WeightedCall, Weights};

use callgate_bpf::Insn;
use callgate_bpf::data::Endian;
use callgate_proof::diagram::{DiagramError, Func, Store};

/// How many functions of arguments are looked at in every way. Real filters need some thousands at
/// most; beyond, code is still made, by the plain ways only.
const EFFORT: u32 = 20_000;

/// The instructions of a program for a function. They may be more than the kernel accepts.
pub fn generate(
    store: &mut Store,
    root: Func,
    calls: &[WeightedCall],
    model: Model,
    aim: Aim,
    endian: Endian,
) -> Result<Vec<Insn>, DiagramError> {
    let mut attempt = |effort: u32| -> Result<Vec<Insn>, DiagramError> {
        store.reset_steps();
        let mut lowering = lower::Lowering::new(store, root, calls, model, aim, effort);
        let entry = lowering.code(root)?;
        let graph = lowering.graph;
        let frequency = layout::frequencies(&graph, entry, calls, model);
        Ok(layout::lay_out(&graph, entry, &frequency, endian))
    };
    // A search that takes too long is no reason to refuse a filter.
    match attempt(EFFORT) {
        Err(error) if error.is_out_of_budget() => attempt(0),
        made => made,
    }
}
