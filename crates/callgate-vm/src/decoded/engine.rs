//! The engine: a translated program.

use std::marker::PhantomData;

use callgate_core::{Ancillary, Arch, Endian, Program, SeccompData, SocketProgram, Verdict};

use super::op::Code;
use super::partial::OfArch;
use super::{emit, link, run};
use crate::engine::{PacketEngine, SeccompEngine};
use crate::flow::{Flow, Input};

/// An interpreter of fused operations. The type parameter distinguishes seccomp and socket filters.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Endian, SeccompData, Verdict};
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
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoded<P = Program> {
    code: Code,
    program: PhantomData<P>,
}

impl Decoded<Program> {
    /// The engine for a seccomp filter on machines of this byte order.
    pub fn new(program: &Program, endian: Endian) -> Decoded<Program> {
        Decoded::of(&Flow::of(program.insns(), Input::Syscall(endian)))
    }

    /// The same, and the architectures whose tokens the program compares with the arch.
    pub(crate) fn with_arches(program: &Program, endian: Endian) -> (Decoded<Program>, Vec<Arch>) {
        let flow = Flow::of(program.insns(), Input::Syscall(endian));
        (Decoded::of(&flow), flow.compared_arches())
    }

    /// The verdicts for syscalls with this arch, by number.
    pub(crate) fn of_arch(&self, arch: u32) -> OfArch<'_> {
        OfArch::new(&self.code, arch)
    }
}

impl Decoded<SocketProgram> {
    /// The engine for a socket filter.
    pub fn new_packet(program: &SocketProgram) -> Decoded<SocketProgram> {
        Decoded::of(&Flow::of(program.insns(), Input::Packet))
    }
}

impl<P> Decoded<P> {
    fn of(flow: &Flow) -> Decoded<P> {
        let mut code = emit::Emitter::new(flow).emit();
        link::join(&mut code);
        Decoded { code, program: PhantomData }
    }
}

impl SeccompEngine for Decoded<Program> {
    #[inline]
    fn verdict(&self, data: &SeccompData) -> Verdict {
        Verdict(run::on_syscall(&self.code, data))
    }

    fn code_bytes(&self) -> usize {
        self.code.bytes()
    }
}

impl PacketEngine for Decoded<SocketProgram> {
    #[inline]
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
        run::on_packet(&self.code, packet, ancillary)
    }

    fn code_bytes(&self) -> usize {
        self.code.bytes()
    }
}
