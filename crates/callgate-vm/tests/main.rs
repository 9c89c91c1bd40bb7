//! The engines beside the reference interpreter: one program, a module per subject.

mod random;
mod semantics;
mod stacks;
mod tables;
