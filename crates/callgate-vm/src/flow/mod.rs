//! Data flow analysis for all engines that translate programs: constant propagation, liveness, and the
//! destinations of comparisons.
//!
//! - [`threading`], forward, for programs that load words again: edges lead past what their facts decide;
//! - [`facts`], forward: constant propagation over intervals, redundant loads, length checks;
//! - [`live`], backward: liveness, dead code, branches that decide nothing;
//! - [`walk`]: trees of comparisons as a function from the value to where it goes.
//!
//! The result is a program with simpler instructions. An instruction without effect
//! became `ja 0`. Branches of classic BPF only go forward, so each pass is exact.

mod facts;
mod live;
mod simplified;
mod threading;
pub(crate) mod walk;

pub(crate) use simplified::{Flow, Input, compares_constant, end, is_special};
