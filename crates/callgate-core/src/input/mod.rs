//! What a filter reads: `struct seccomp_data`, or that of another kind of filter, as at most sixteen words; or a packet.

mod data;
mod filter_input;
pub mod io_uring;
mod layout;
mod packet;

pub use data::{Endian, Place, SECCOMP_DATA_SIZE, SeccompData, Word};
pub use filter_input::FilterInput;
pub(crate) use filter_input::sealed;
pub use layout::Layout;
pub(crate) use packet::words::{LENGTH, place_of_byte};
pub use packet::{PACKET_BYTES, PacketHead};
