//! What every engine does: answer calls, or packets, without allocating.

use std::fmt;

use callgate_bpf::Ancillary;
use callgate_bpf::{Endian, SeccompData, Verdict};

/// An accepted seccomp filter, ready to answer calls.
///
/// Made by the engine's `new`, which takes a [`Program`](callgate_bpf::Program) and the byte order of
/// the machine that it is for: that decides where the halves of an argument lie. With a foreign order
/// an engine answers as a machine of that order would.
pub trait SeccompEngine: Send + Sync {
    /// What the filter says to a call.
    fn verdict(&self, data: &SeccompData) -> Verdict;

    /// The same for a call as the kernel of this machine lays it out: `struct seccomp_data`, in native
    /// byte order.
    fn verdict_of_bytes(&self, data: &[u8; 64]) -> Verdict {
        self.verdict(&SeccompData::from_bytes(data, Endian::NATIVE))
    }

    /// How many bytes the engine made of the program, and works through when it answers.
    fn code_bytes(&self) -> usize;
}

/// An accepted socket filter, ready to answer packets.
///
/// Made by the engine's `new_packet`, which takes a [`SocketProgram`](callgate_bpf::SocketProgram).
pub trait PacketEngine: Send + Sync {
    /// How many bytes of the packet to keep, 0 to drop it. `ancillary` is asked where the program loads
    /// something that is not in the packet; [`NoAncillary`](callgate_bpf::NoAncillary) has the defaults.
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32;

    /// How many bytes the engine made of the program, and works through when it answers.
    fn code_bytes(&self) -> usize;
}

impl<E: SeccompEngine + ?Sized> SeccompEngine for Box<E> {
    fn verdict(&self, data: &SeccompData) -> Verdict {
        (**self).verdict(data)
    }

    fn verdict_of_bytes(&self, data: &[u8; 64]) -> Verdict {
        (**self).verdict_of_bytes(data)
    }

    fn code_bytes(&self) -> usize {
        (**self).code_bytes()
    }
}

impl<E: PacketEngine + ?Sized> PacketEngine for Box<E> {
    fn run(&self, packet: &[u8], ancillary: &dyn Ancillary) -> u32 {
        (**self).run(packet, ancillary)
    }

    fn code_bytes(&self) -> usize {
        (**self).code_bytes()
    }
}

/// Why there is no such engine for a program: the machine has none, or refuses what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    engine: &'static str,
    why: String,
}

impl EngineError {
    /// The engine of this name cannot be made, for this reason.
    pub fn new(engine: &'static str, why: impl Into<String>) -> EngineError {
        EngineError { engine, why: why.into() }
    }

    /// The name of the engine.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// Why, without the name.
    pub fn reason(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the engine `{}` cannot be used here: {}", self.engine, self.why)
    }
}

impl std::error::Error for EngineError {}
