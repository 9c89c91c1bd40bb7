//! The budget of a diagram, and the error of operations on diagrams.

use crate::{AncillaryWord, PACKET_BYTES};

/// The limits of a store: memory and work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The maximum number of nodes, at most 2^31; a node takes about 28 bytes. The limit of symbolic states
    /// of a program is one sixteenth of this.
    pub nodes: usize,
    /// The maximum number of steps of all operations together; a step takes 10 to 50 ns.
    pub steps: u64,
}

impl Default for Budget {
    /// Two million nodes and twelve million steps: less than 100 MB and less than 1 s (at most 0.85 s for
    /// 300 random programs with arithmetic on a 2-core Zen 4). Real filters need thousands to tens of
    /// thousands of either; a program compiled from ten thousand rules needs up to a million nodes.
    fn default() -> Budget {
        Budget { nodes: 2_000_000, steps: 12_000_000 }
    }
}

/// The error of operations on diagrams.
///
/// Usually the [`Budget`] is exhausted ([`DiagramError::is_out_of_budget`]), the filter has variables
/// ([`DiagramError::needs_values`]), or it loads what the proof does not model ([`DiagramError::unmodelled_load`]). Any other error is a defect: the caller used a node of another store or a
/// filter of another layout, or an invariant of this crate is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramError(DiagramErrorKind);

/// A load of a socket filter that the proof does not model. The reference interpreter runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnmodelledLoad {
    /// It reads a byte of the packet behind the first [`PACKET_BYTES`].
    Beyond {
        /// The offset of the last byte.
        last: u32,
    },
    /// It reads what the kernel knows about the packet, and the packet does not say.
    Ancillary(AncillaryWord),
    /// Its offset is negative: relative to a header whose place is not known, or outside of any packet.
    Header {
        /// The offset.
        offset: u32,
    },
    /// X, to which it is relative, has more possible values than the limit.
    Offsets {
        /// The limit.
        limit: usize,
    },
}

impl std::fmt::Display for UnmodelledLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            UnmodelledLoad::Beyond { last } => write!(
                f,
                "it reads byte {last} of the packet; the proof knows the first {PACKET_BYTES} bytes, 0 to {}",
                PACKET_BYTES - 1
            ),
            UnmodelledLoad::Ancillary(word) => write!(
                f,
                "it reads the ancillary word `{}`, which is not part of the packet",
                word.name()
            ),
            UnmodelledLoad::Header { offset } => write!(
                f,
                "its offset {} is relative to a header, whose place in the packet is not known",
                offset as i32
            ),
            UnmodelledLoad::Offsets { limit } => write!(
                f,
                "X may have more than {limit} values there (the limit), so the bytes that it reads are not known; the \
                 length of an IP header, `ldxb 4*([k]&0xf)`, has 16"
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiagramErrorKind {
    Nodes { limit: usize },
    Steps { limit: u64, nodes: usize },
    States { limit: usize },
    ReturnBits { limit: u32, given: u32 },
    Comparisons { limit: usize },
    Variables,
    Computed,
    Undecided,
    Unmodelled { insn: usize, load: UnmodelledLoad },
    Foreign,
    Layout,
    Defect(&'static str),
}

impl DiagramError {
    /// The diagram has more nodes than the limit.
    pub const fn nodes(limit: usize) -> DiagramError {
        DiagramError(DiagramErrorKind::Nodes { limit })
    }

    pub(super) const fn steps(limit: u64, nodes: usize) -> DiagramError {
        DiagramError(DiagramErrorKind::Steps { limit, nodes })
    }

    pub(super) const fn states(limit: usize) -> DiagramError {
        DiagramError(DiagramErrorKind::States { limit })
    }

    pub(super) const fn return_bits(limit: u32, given: u32) -> DiagramError {
        DiagramError(DiagramErrorKind::ReturnBits { limit, given })
    }

    pub(super) const fn comparisons(limit: usize) -> DiagramError {
        DiagramError(DiagramErrorKind::Comparisons { limit })
    }

    /// A filter has variables, where their values are needed.
    pub const VARIABLES: DiagramError = DiagramError(DiagramErrorKind::Variables);

    /// A program computes with the value of a variable, or compares it with a computed value.
    pub(super) const COMPUTED: DiagramError = DiagramError(DiagramErrorKind::Computed);

    /// Two functions are different nodes, but no input was found for which they differ.
    pub const UNDECIDED: DiagramError = DiagramError(DiagramErrorKind::Undecided);

    /// A node of another store was used.
    pub(super) const FOREIGN: DiagramError = DiagramError(DiagramErrorKind::Foreign);

    /// A filter or a field of another layout was used.
    pub(super) const LAYOUT: DiagramError = DiagramError(DiagramErrorKind::Layout);

    /// An invariant of this crate does not hold.
    pub const fn defect(invariant: &'static str) -> DiagramError {
        DiagramError(DiagramErrorKind::Defect(invariant))
    }

    pub(super) const fn unmodelled(insn: usize, load: UnmodelledLoad) -> DiagramError {
        DiagramError(DiagramErrorKind::Unmodelled { insn, load })
    }

    /// Whether the [`Budget`] or another limit is exhausted.
    pub const fn is_out_of_budget(&self) -> bool {
        !self.is_defect() && !self.needs_values() && self.unmodelled_load().is_none()
    }

    /// The load of a socket filter that the proof does not model, with the number of its instruction.
    pub const fn unmodelled_load(&self) -> Option<(usize, UnmodelledLoad)> {
        match self.0 {
            DiagramErrorKind::Unmodelled { insn, load } => Some((insn, load)),
            _ => None,
        }
    }

    /// Whether the diagram has too many nodes or takes too many steps, the limits of the [`Budget`].
    pub const fn exceeds_budget(&self) -> bool {
        matches!(self.0, DiagramErrorKind::Nodes { .. } | DiagramErrorKind::Steps { .. })
    }

    /// Whether the filter has too many different comparisons with variables and of arguments.
    pub const fn has_too_many_comparisons(&self) -> bool {
        matches!(self.0, DiagramErrorKind::Comparisons { .. })
    }

    /// Whether it is a defect of the caller or of this crate.
    pub const fn is_defect(&self) -> bool {
        matches!(
            self.0,
            DiagramErrorKind::Foreign
                | DiagramErrorKind::Layout
                | DiagramErrorKind::Defect(_)
                | DiagramErrorKind::Computed
        )
    }

    /// Whether the filter has variables, and the operation is defined only for filters without.
    pub const fn needs_values(&self) -> bool {
        matches!(self.0, DiagramErrorKind::Variables)
    }
}

impl std::fmt::Display for DiagramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            DiagramErrorKind::Nodes { limit } => write!(
                f,
                "the filter is too complex: its decision diagram has more than {limit} nodes (the \
                 limit); products of arguments make it grow, and so do many \
                 unrelated conditions on several arguments of one syscall"
            ),
            DiagramErrorKind::Steps { limit, nodes } => write!(
                f,
                "the filter is too complex: its decision diagram, {nodes} nodes so far, takes \
                 more than {limit} steps (the limit); products of arguments make it \
                 grow, and so do many unrelated conditions on several arguments of one syscall"
            ),
            DiagramErrorKind::States { limit } => write!(
                f,
                "the filter is too complex: its registers and scratch memory may hold \
                 more than {limit} different combinations of values (the limit)"
            ),
            DiagramErrorKind::ReturnBits { limit, given } => write!(
                f,
                "the filter is too complex: it returns a computed value with {given} \
                 variable bits, the limit is {limit}"
            ),
            DiagramErrorKind::Comparisons { limit } => write!(
                f,
                "the filter has more than {limit} different comparisons with variables or between arguments (the limit); \
                 the halves of a value of 64 bits count separately"
            ),
            DiagramErrorKind::Variables => {
                write!(f, "the filter has variables, whose values are needed here")
            }
            DiagramErrorKind::Computed => {
                write!(
                    f,
                    "a program computes with a variable; it may only compare arguments with it"
                )
            }
            DiagramErrorKind::Undecided => f.write_str(
                "it is not decided whether the filters differ: they compare arguments with each other in different ways, \
                 and no syscall was found that shows a difference",
            ),
            DiagramErrorKind::Unmodelled { insn, load } => {
                write!(f, "instruction {insn} is a load that the proof does not model: {load}")
            }
            DiagramErrorKind::Foreign => {
                write!(f, "a node of another diagram store was used (a defect of the caller)")
            }
            DiagramErrorKind::Layout => write!(
                f,
                "a filter reads another structure than the diagram store is for, or is for the other byte order (a \
                 defect of the caller)"
            ),
            DiagramErrorKind::Defect(invariant) => {
                write!(
                    f,
                    "an invariant of the decision diagram is broken (a defect of callgate): {invariant}"
                )
            }
        }
    }
}

impl std::error::Error for DiagramError {}
