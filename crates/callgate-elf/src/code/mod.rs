//! Instructions: what code refers to, and what single instructions do to registers and memory.
//!
//! All code is decoded once, one function after the other, for its [`Reference`]s. Only the functions that make syscalls,
//! or pass their numbers on, are decoded again as [`Insn`]s, whose values are computed.

mod aarch64;
mod aarch64_flags;
mod aarch64_form;
mod aarch64_insn;
mod convention;
mod decode;
mod functions;
mod insn;
mod plt;
mod reference;
mod scan;
mod x86_64;
mod x86_64_insn;

pub(crate) use convention::Convention;
pub(crate) use decode::decode;
pub(crate) use functions::Function;
pub(crate) use insn::{
    Against, BinaryOp, Callee, Compared, Comparison, Condition, Effect, Flow, Insn, Part, Place,
    Reg, Source, Through,
};
pub(crate) use plt::slot_of;
pub(crate) use reference::{Reference, ReferenceKind};
pub(crate) use scan::Scan;
