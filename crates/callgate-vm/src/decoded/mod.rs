//! The decoded engine: an interpreter of an internal form with fused operations.
//!
//! Translation:
//! - `crate::flow` folds constants and removes redundant loads and dead code;
//! - consecutive comparisons become a jump table where the values are close together, as syscall numbers
//!   are, and a binary search elsewhere (`emit`, `table`): a list of 300 syscalls is one operation;
//! - comparisons of neighbouring bytes of a packet become one operation (`window`);
//! - a load is fused with the comparison or the bit field extraction after it (`emit`);
//! - finally, targets are resolved to places in the code, the comparisons of both halves of an argument are fused, and so is the
//!   test of the arch with the jump table of syscall numbers (`link`).
//!
//! Operations are dispatched by one `match` in a loop (`run`). There is no `unsafe` code: an index out of bounds, which cannot
//! occur, would end the program with 0.
//!
//! The interpreter of Linux 3.15 was the model for the first version; it translates instructions one to
//! one, whereas this engine fuses them.

mod emit;
mod engine;
mod link;
mod op;
mod partial;
mod run;
mod table;
mod window;

pub use engine::Decoded;
pub(crate) use partial::OfArch;
