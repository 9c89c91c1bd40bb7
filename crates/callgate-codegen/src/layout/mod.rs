//! Layout: from the code graph to a program.
//!
//! Jumps go forward only, and the displacement of a conditional jump is at most 255. The program is emitted
//! backwards: when an instruction is emitted, all its successors have their positions, so that every displacement
//! is known and final. If a target is out of reach, a trampoline (a copy of the return, or a `ja` to the target) is
//! emitted first, directly after the branch, and serves all earlier instructions from then on. So one pass
//! suffices: each node of the graph is emitted once, with at most two trampolines.
//!
//! Several orders are tried ([`choice`]); the [costs of the kernel](crate::native) decide between programs of the same
//! size.

mod choice;
mod forms;
mod frequencies;
mod order;
mod writer;

pub(super) use choice::lay_out;
pub use writer::Program;
