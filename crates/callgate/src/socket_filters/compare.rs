//! Comparison of two socket filters.

use callgate_core::diagram::{Budget, DiagramError};
use callgate_core::{Meaning, NoAncillary, PacketHead, SocketProgram};

/// A packet for which two filters return different values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The packet. All bytes after its [known](PacketHead::bytes) ones are 0.
    pub packet: PacketHead,
    /// What the first filter returns: how many bytes to keep.
    pub a: u32,
    /// What the second filter returns.
    pub b: u32,
}

/// Why two filters could not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotCompared {
    /// The filter that is the reason: 0 or 1.
    pub filter: usize,
    /// The reason.
    pub error: DiagramError,
}

impl std::fmt::Display for NotCompared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let which = if self.filter == 0 { "first" } else { "second" };
        write!(f, "the {which} filter: {}", self.error)
    }
}

impl std::error::Error for NotCompared {}

/// The longest packet for which values are checked in the interpreter.
const MAX_RUN: u32 = 1 << 20;

/// A packet for which two filters return different values, or `None`: they are proved to be equal for all packets.
///
/// ```
/// use callgate::socket_filters::compare;
/// use callgate_bpf::asm;
/// use callgate_core::SocketProgram;
/// use callgate_core::diagram::Budget;
///
/// let program = |text| SocketProgram::new(asm::assemble(text)?).map_err(Box::<dyn std::error::Error>::from);
/// let [a, b] = [
///     program("ldb [9]\n jeq #6, keep, drop\n keep: ret #65535\n drop: ret #0")?,
///     program("ldb [9]\n jgt #6, drop, next\n jeq #6, keep, drop\n keep: ret #65535\n drop: ret #0")?,
/// ];
/// assert_eq!(compare(&a, &b, Budget::default())?, None);
/// let difference = compare(&a, &program("ldb [9]\n ret #65535")?, Budget::default())?.unwrap();
/// assert_eq!((difference.packet.len(), difference.a, difference.b), (10, 0, 65535));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NotCompared`]: a filter exceeds the budget, or loads what the proof does not model.
pub fn compare(
    a: &SocketProgram,
    b: &SocketProgram,
    budget: Budget,
) -> Result<Option<Difference>, NotCompared> {
    let of = |filter| move |error| NotCompared { filter, error };
    let mut meaning = Meaning::of_socket_program(a, budget).map_err(of(0))?;
    let Err(refused) = meaning.prove_socket_program(b) else { return Ok(None) };
    let Some(packet) = refused.witness().copied() else {
        let unknown = DiagramError::defect("functions that differ have a witness");
        return Err(of(1)(refused.diagram_error().unwrap_or(unknown)));
    };
    let other = Meaning::of_socket_program(b, budget).map_err(of(1))?;
    let value = |meaning: &Meaning<PacketHead>, program: &SocketProgram, filter| {
        let value = meaning.store().evaluate(meaning.func(), &packet).map_err(of(filter))?.0;
        let runs = packet.len() <= MAX_RUN;
        match runs && program.run(&whole(&packet), &NoAncillary) != value {
            true => Err(of(filter)(DiagramError::defect(
                "the function of a program is that of the interpreter",
            ))),
            false => Ok(value),
        }
    };
    Ok(Some(Difference { packet, a: value(&meaning, a, 0)?, b: value(&other, b, 1)? }))
}

/// A packet with this head; all other bytes are 0.
pub(super) fn whole(head: &PacketHead) -> Vec<u8> {
    let mut packet = head.bytes();
    packet.resize(head.len() as usize, 0);
    packet
}
