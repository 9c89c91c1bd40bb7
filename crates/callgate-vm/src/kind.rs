//! The engines by name: one table that commands, tests and benches read. A new engine is a row.

use std::fmt;
use std::str::FromStr;

use callgate::Endian;
use callgate::bpf::{Program, SocketProgram};

use crate::cached::{Cached, arches_of};
use crate::decoded::Decoded;
use crate::engine::{EngineError, PacketEngine, SeccompEngine};
use crate::jit::Jit;
use crate::reference::Reference;

type MakeSeccomp = fn(&Program, Endian) -> Result<Box<dyn SeccompEngine>, EngineError>;
type MakePacket = fn(&SocketProgram) -> Result<Box<dyn PacketEngine>, EngineError>;

struct Row {
    kind: EngineKind,
    name: &'static str,
    seccomp: MakeSeccomp,
    /// `None` for an engine that knows calls only.
    packet: Option<MakePacket>,
}

/// In the order of [`EngineKind`].
const ROWS: &[Row] = &[
    Row {
        kind: EngineKind::Reference,
        name: "reference",
        seccomp: |program, endian| Ok(Box::new(Reference::new(program, endian))),
        packet: Some(|program| Ok(Box::new(Reference::new_packet(program)))),
    },
    Row {
        kind: EngineKind::Decoded,
        name: "decoded",
        seccomp: |program, endian| Ok(Box::new(Decoded::new(program, endian))),
        packet: Some(|program| Ok(Box::new(Decoded::new_packet(program)))),
    },
    Row {
        kind: EngineKind::Cached,
        name: "cached",
        seccomp: |program, endian| {
            let engine = Decoded::new(program, endian);
            Ok(Box::new(Cached::of_decoded(engine, &arches_of(program))))
        },
        packet: None,
    },
    Row {
        kind: EngineKind::Jit,
        name: "jit",
        seccomp: |program, endian| Ok(Box::new(Jit::new(program, endian)?)),
        packet: Some(|program| Ok(Box::new(Jit::new_packet(program)?))),
    },
];

/// An engine, chosen while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// [`Reference`].
    Reference,
    /// [`Decoded`].
    Decoded,
    /// [`Cached`], for the architectures that the program names, in front of [`Decoded`].
    Cached,
    /// [`Jit`].
    Jit,
}

impl EngineKind {
    /// All of them, the definition of truth first.
    pub const ALL: &'static [EngineKind] =
        &[EngineKind::Reference, EngineKind::Decoded, EngineKind::Cached, EngineKind::Jit];

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its name, as commands take it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The engine for a seccomp filter on machines of this byte order.
    ///
    /// # Errors
    /// When this machine has no such engine, or refuses what it needs.
    pub fn seccomp(
        self,
        program: &Program,
        endian: Endian,
    ) -> Result<Box<dyn SeccompEngine>, EngineError> {
        (self.row().seccomp)(program, endian)
    }

    /// The engine for a socket filter; `None` when it is for calls only.
    ///
    /// # Errors
    /// As for [`EngineKind::seccomp`].
    pub fn packet(
        self,
        program: &SocketProgram,
    ) -> Option<Result<Box<dyn PacketEngine>, EngineError>> {
        self.row().packet.map(|make| make(program))
    }
}

/// An engine, and why it is not the one that was asked for, if it is not.
pub struct Made<E: ?Sized> {
    /// The engine.
    pub engine: Box<E>,
    /// Which one it is.
    pub kind: EngineKind,
    /// Why the one that was asked for cannot be used here.
    pub fallback: Option<EngineError>,
}

impl<E: ?Sized> Made<E> {
    fn or_decoded(
        kind: EngineKind,
        made: Result<Box<E>, EngineError>,
        decoded: impl FnOnce() -> Box<E>,
    ) -> Made<E> {
        match made {
            Ok(engine) => Made { engine, kind, fallback: None },
            Err(why) => Made { engine: decoded(), kind: EngineKind::Decoded, fallback: Some(why) },
        }
    }
}

/// The fallback: for those who want an answer wherever they are, and to know by whom.
impl EngineKind {
    /// The engine for a seccomp filter, or [`Decoded`] where this machine has no such engine or refuses
    /// what it needs.
    ///
    /// ```
    /// use callgate::bpf::{Insn, Op, Program};
    /// use callgate::{Endian, SeccompData, Verdict};
    /// use callgate_vm::EngineKind;
    ///
    /// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
    /// let made = EngineKind::Jit.seccomp_or_decoded(&program, Endian::NATIVE);
    /// assert_eq!(made.engine.verdict(&SeccompData::default()), Verdict::ALLOW);
    /// match made.fallback {
    ///     None => assert_eq!(made.kind, EngineKind::Jit),
    ///     Some(why) => assert_eq!((made.kind, why.engine()), (EngineKind::Decoded, "jit")),
    /// }
    /// # Ok::<(), callgate::bpf::ProgramError>(())
    /// ```
    pub fn seccomp_or_decoded(self, program: &Program, endian: Endian) -> Made<dyn SeccompEngine> {
        let decoded = || Box::new(Decoded::new(program, endian)) as Box<dyn SeccompEngine>;
        Made::or_decoded(self, self.seccomp(program, endian), decoded)
    }

    /// The same for a socket filter; `None` when the engine is for calls only.
    pub fn packet_or_decoded(self, program: &SocketProgram) -> Option<Made<dyn PacketEngine>> {
        let decoded = || Box::new(Decoded::new_packet(program)) as Box<dyn PacketEngine>;
        Some(Made::or_decoded(self, self.packet(program)?, decoded))
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> Result<EngineKind, String> {
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(|row| row.kind).ok_or_else(|| {
            let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            format!("there is no engine `{name}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        assert_eq!(ROWS.len(), EngineKind::ALL.len());
        for (row, &kind) in ROWS.iter().zip(EngineKind::ALL) {
            assert_eq!(row.kind, kind);
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("fast".parse::<EngineKind>().unwrap_err().contains("reference"));
    }
}
