//! The profiles of container runtimes.

mod gate;
mod locate;
mod lower;
mod parse;
mod read;

pub use lower::BAD_ARCH;
pub use read::{Dialect, EnosysAbove, Options, read};
