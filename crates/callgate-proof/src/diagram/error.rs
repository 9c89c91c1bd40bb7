//! How much work a diagram may take, and the error when it takes more or is misused.

/// How much work and memory a store may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The maximum number of nodes, at most 2^31; a node takes about 28 bytes. A program may reach one
    /// sixteenth as many states.
    pub nodes: usize,
    /// The maximum number of steps of all operations together; a step takes some 10–50 ns.
    pub steps: u64,
}

impl Default for Budget {
    /// Two million nodes, twelve million steps: below 100 MB, and below a second (at most 0.85 s for
    /// 300 random programs with arithmetic on a 2-core Zen 4). Filters in use take thousands to tens of
    /// thousands of either; ten thousand rules that fit into a program take up to a million nodes.
    fn default() -> Budget {
        Budget { nodes: 2_000_000, steps: 12_000_000 }
    }
}

/// The error of operations on diagrams.
///
/// Nearly always the [`Budget`] is exhausted ([`DiagramError::is_out_of_budget`]). Anything else is a
/// defect of the caller, which used a node of another store, or of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramError(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nodes { limit: usize },
    Steps { limit: u64, nodes: usize },
    States { limit: usize },
    ReturnBits { limit: u32, given: u32 },
    Foreign,
    Defect(&'static str),
}

impl DiagramError {
    /// The diagram has more nodes than the limit.
    pub const fn nodes(limit: usize) -> DiagramError {
        DiagramError(Kind::Nodes { limit })
    }

    pub(super) const fn steps(limit: u64, nodes: usize) -> DiagramError {
        DiagramError(Kind::Steps { limit, nodes })
    }

    pub(super) const fn states(limit: usize) -> DiagramError {
        DiagramError(Kind::States { limit })
    }

    pub(super) const fn return_bits(limit: u32, given: u32) -> DiagramError {
        DiagramError(Kind::ReturnBits { limit, given })
    }

    /// A node of another store was used.
    pub(super) const FOREIGN: DiagramError = DiagramError(Kind::Foreign);

    /// An invariant of this crate does not hold.
    pub const fn defect(invariant: &'static str) -> DiagramError {
        DiagramError(Kind::Defect(invariant))
    }

    /// Whether the [`Budget`] does not suffice; otherwise the caller or this crate is defective.
    pub const fn is_out_of_budget(&self) -> bool {
        !matches!(self.0, Kind::Foreign | Kind::Defect(_))
    }
}

impl std::fmt::Display for DiagramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Kind::Nodes { limit } => write!(
                f,
                "the filter is too complex: its decision diagram has more than {limit} nodes (the \
                 limit); arguments compared with each other make it grow, and so do many \
                 unrelated conditions on several arguments of one call"
            ),
            Kind::Steps { limit, nodes } => write!(
                f,
                "the filter is too complex: its decision diagram, {nodes} nodes so far, takes \
                 more than {limit} steps (the limit); arguments compared with each other make it \
                 grow, and so do many unrelated conditions on several arguments of one call"
            ),
            Kind::States { limit } => write!(
                f,
                "the filter is too complex: its registers and scratch memory may hold \
                 more than {limit} different combinations of values (the limit)"
            ),
            Kind::ReturnBits { limit, given } => write!(
                f,
                "the filter is too complex: it returns a computed value with {given} \
                 free bits, {limit} are the limit"
            ),
            Kind::Foreign => {
                write!(f, "a node of another diagram store was used (a defect of the caller)")
            }
            Kind::Defect(invariant) => {
                write!(
                    f,
                    "an invariant of the decision diagram is broken (a defect of callgate): {invariant}"
                )
            }
        }
    }
}

impl std::error::Error for DiagramError {}
