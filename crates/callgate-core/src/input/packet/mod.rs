//! What a socket filter reads: the first bytes of a packet, and its length.
//!
//! Loads from a packet are in network byte order on every machine, of one, two or four bytes at any offset. So the words of
//! this layout are the bytes of the packet, four at a time in network order, whatever the program loads; the length of the
//! packet comes last, because every load compares it with a constant. A load behind the end of the packet ends the program with
//! 0 (`bpf_convert_filter` in `net/core/filter.c`), so a program cannot see bytes that the packet does not have.
//!
//! Limit: [`PACKET_BYTES`] bytes, which is Ethernet, the longest header of IPv4 and the first 18 bytes of TCP. The decision diagram
//! has no variables for more. The proof refuses programs that load more, and those that load what is not in the packet: ancillary
//! words, and bytes relative to the link layer header and the network header. The reference interpreter runs all of these.

mod head;
pub(super) mod words;

pub use head::PacketHead;
pub use words::PACKET_BYTES;
