//! Instructions: what code refers to, and what single instructions do to registers and memory.
//!
//! All code is decoded once, one function after the other, for its [`Reference`]s. Only the functions that make syscalls,
//! or pass their numbers on, are decoded again as [`Insn`]s, whose values are computed.

mod aarch64;
mod aarch64_form;
mod aarch64_insn;
mod decode;
mod functions;
mod insn;
mod scan;
mod x86_64;
mod x86_64_insn;

pub(crate) use decode::{decode, slot_of};
pub(crate) use functions::Function;
pub(crate) use insn::{
    Against, BinaryOp, Callee, Compared, Comparison, Condition, Convention, Effect, Flow, Insn,
    Part, Place, Reference, ReferenceKind, Reg, Source, Through,
};
pub(crate) use scan::Scan;
