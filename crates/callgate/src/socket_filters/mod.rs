//! Socket filters: programs that take packets, compared, summarized and optimized.
//!
//! The proof is that of seccomp filters with another input: [`PacketHead`](callgate_core::PacketHead), the first
//! [`PACKET_BYTES`](callgate_core::PACKET_BYTES) bytes of a packet and its length. It is exact: two filters are equal for all packets, or
//! there is a packet for which they differ. A filter that loads what this input does not have (bytes further back, ancillary words,
//! bytes relative to a header, bytes at an offset with too many values) is refused with the
//! [load](callgate_core::diagram::DiagramError::unmodelled_load).
//!
//! No policy language is about packets, so nothing is compiled: [`optimize()`] improves a program step by step, and each step is
//! proved.

mod compare;
mod graph;
mod optimize;
mod shortest;
mod summary;

pub use compare::{Difference, NotCompared, compare};
pub use optimize::{Figures, Optimized, optimize};
pub use summary::{Results, Returned, Summary, summarize};

#[cfg(test)]
mod tests;
