//! The decoded engine: a program translated once into an internal form that runs faster.
//!
//! What is done, and where:
//! - constants are folded, loads of what is in a register already and unread writes are left out
//!   (`flow`);
//! - comparisons in a row become one table, dense where the values are close together, as the numbers of
//!   calls are, and a binary search elsewhere (`spread`, `table`): a list of 300 calls is one step;
//! - what is asked of bytes of a packet that lie close together is one step, too (`window`, `probe`);
//! - a load and what it is compared with, a load and the bits that are taken out of it, are one
//!   operation with absolute targets, and every comparison has the same form (`emit`, `load`, `op`); so
//!   are both halves of an argument, and the arch with the table of numbers (`pairs`);
//! - at the end all targets become places in the code (`link`);
//! - operations are dispatched by one `match` in a loop (`call`, `packet`, `registers`). There is no
//!   `unsafe` here: an index that does not exist, which does not happen, ends the program with 0.
//!
//! The reworked interpreter of Linux 3.15 was the model for the first steps; it maps instructions one to
//! one, where this merges them.

mod call;
mod emit;
mod known;
mod link;
mod load;
mod op;
mod packet;
mod pairs;
mod probe;
mod registers;
mod table;
mod window;

use std::marker::PhantomData;

use callgate_bpf::{Ancillary, Insn, Program, SocketProgram};
use callgate_bpf::{Endian, SeccompData, Verdict};

use crate::engine::{PacketEngine, SeccompEngine};
use crate::flow::{Flow, Input};
use op::Code;

/// A program in an internal form that runs faster; the type says whose programs it runs.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program};
/// use callgate_bpf::{Endian, SeccompData, Verdict};
/// use callgate_vm::{Decoded, SeccompEngine};
///
/// let program = vec![
///     Insn::new(Op::LdWordAbs, 16),            // A = low half of the first argument
///     Insn::branch(Op::JgtK, 9, 0, 1),
///     Insn::new(Op::RetK, Verdict::errno(22).0),
///     Insn::new(Op::RetK, Verdict::ALLOW.0),
/// ];
/// let engine = Decoded::new(&Program::new(program)?, Endian::Little);
/// let call = |value| SeccompData { args: [value, 0, 0, 0, 0, 0], ..SeccompData::default() };
/// assert_eq!(engine.verdict(&call(9)), Verdict::ALLOW);
/// assert_eq!(engine.verdict(&call(10)), Verdict::errno(22));
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoded<P = Program> {
    code: Code,
    program: PhantomData<P>,
}

impl Decoded<Program> {
    /// The engine for a seccomp filter on machines of this byte order.
    pub fn new(program: &Program, endian: Endian) -> Decoded<Program> {
        Decoded::of(program.insns(), Input::Call(endian))
    }

    /// The verdict for all calls with this arch and number, whatever their arguments are; `None` when
    /// that depends on them, or on the instruction pointer.
    ///
    /// It is exact unless values are computed that cancel each other out, or two ways with an
    /// argument lead to the same verdict: then it may be `None` for a verdict that is always the same.
    pub fn known(&self, arch: u32, nr: u32) -> Option<Verdict> {
        known::run(&self.code, arch, nr).map(Verdict)
    }
}

impl Decoded<SocketProgram> {
    /// The engine for a socket filter.
    pub fn new_packet(program: &SocketProgram) -> Decoded<SocketProgram> {
        Decoded::of(program.insns(), Input::Packet)
    }
}

impl<P> Decoded<P> {
    fn of(insns: &[Insn], input: Input) -> Decoded<P> {
        let mut code = emit::Emitter::new(&Flow::of(insns, input)).emit();
        pairs::join(&mut code);
        Decoded { code, program: PhantomData }
    }
}

impl SeccompEngine for Decoded<Program> {
    #[inline]
    fn verdict(&self, data: &SeccompData) -> Verdict {
        Verdict(call::run(&self.code, data))
    }

    fn code_bytes(&self) -> usize {
        self.code.bytes()
    }
}

impl PacketEngine for Decoded<SocketProgram> {
    #[inline]
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
        packet::run(&self.code, packet, ancillary)
    }

    fn code_bytes(&self) -> usize {
        self.code.bytes()
    }
}
