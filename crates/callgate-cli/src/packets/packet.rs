//! A packet, and how many of them are read.

/// The maximum number of packets.
pub(super) const MAX_PACKETS: usize = 1_000_000;

/// The bytes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet(pub(crate) Vec<u8>);
