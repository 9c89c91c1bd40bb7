//! The engines beside the reference interpreter: one program, a module per subject.

mod memory;
mod random;
mod refused;
mod semantics;
mod stacks;
mod tables;
