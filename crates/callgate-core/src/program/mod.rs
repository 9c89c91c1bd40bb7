//! Classic BPF: instructions, programs that the kernel accepts, and what they compute.
//!
//! One table, [`Op`], drives everything about instructions: encoding, decoding, printing, parsing and the acceptance rules.
//! A [`Program`] is a seccomp filter that the kernel accepts, a `Program<IoUringRequest>` is an
//! [io_uring filter](crate::io_uring) that it accepts, and a [`SocketProgram`] is a socket filter that it accepts; none of
//! these types can hold anything else. A [`ProgramError`] lists every reason why the kernel would refuse a program.

mod alu;
mod ancillary;
pub mod cfg;
pub(crate) mod check;
mod constallow;
mod error;
mod insn;
mod interp;
mod limits;
mod op;
#[allow(clippy::module_inception)]
mod program;
mod width;

pub use alu::{Alu, Relation, Source, slack_within};
pub use ancillary::{Ancillary, AncillaryWord, NoAncillary, SKF_AD_OFF, SKF_LL_OFF, SKF_NET_OFF};
pub use constallow::{Emulation, Emulator, is_constant_allow};
pub use error::{ProgramError, ProgramHint, Violation};
pub use insn::{Insn, RawInsn, UnknownCode};
pub use interp::{Run, Step, load_absolute, load_indexed};
pub use limits::{MAX_INSNS, MAX_READ_INSNS, SCRATCH_WORDS};
pub use op::{Op, Operand};
pub use program::{LongProgram, Program, SocketProgram};
pub use width::Width;
