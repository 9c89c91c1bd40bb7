//! The reference interpreter of `callgate-bpf` as an engine.

use callgate_core::{Ancillary, Endian, Insn, LongProgram, SeccompData, SocketProgram, Verdict};

use crate::engine::{PacketEngine, SeccompEngine};

/// The reference interpreter. The type parameter distinguishes seccomp and socket filters.
///
/// ```
/// use callgate_core::{Insn, NoAncillary, Op, SocketProgram};
/// use callgate_vm::{PacketEngine, Reference};
///
/// let program = vec![Insn::new(Op::LdByteAbs, 1), Insn::new(Op::RetA, 0)];
/// let engine = Reference::new_packet(&SocketProgram::new(program)?);
/// assert_eq!(engine.run(&[7, 9], &NoAncillary), 9);
/// assert_eq!(engine.run(&[7], &NoAncillary), 0, "the load ends the program");
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reference<P = LongProgram> {
    program: P,
    endian: Endian,
}

impl Reference<LongProgram> {
    /// The engine for a seccomp filter.
    pub fn new(program: &LongProgram, endian: Endian) -> Reference<LongProgram> {
        Reference { program: program.clone(), endian }
    }
}

impl Reference<SocketProgram> {
    /// The engine for a socket filter.
    pub fn new_packet(program: &SocketProgram) -> Reference<SocketProgram> {
        Reference { program: program.clone(), endian: Endian::NATIVE }
    }
}

impl SeccompEngine for Reference<LongProgram> {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        self.program.run(data, self.endian).verdict
    }

    fn code_bytes(&self) -> usize {
        size_of::<Insn>() * self.program.len()
    }
}

impl PacketEngine for Reference<SocketProgram> {
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
        self.program.run(packet, &ancillary)
    }

    fn code_bytes(&self) -> usize {
        size_of::<Insn>() * self.program.len()
    }
}
