//! What a filter reads: `struct seccomp_data`, or that of another kind of filter, as at most sixteen words.

mod data;
mod filter_input;
pub mod io_uring;
mod layout;

pub use data::{Endian, Place, SECCOMP_DATA_SIZE, SeccompData, Word};
pub use filter_input::FilterInput;
pub(crate) use filter_input::sealed;
pub use layout::Layout;
