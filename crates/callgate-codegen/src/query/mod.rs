//! Queries on decision diagrams that the proof does not need.

mod bits;
mod count;
mod cover;
mod difference;
mod partition;
mod permitted;
mod reach;
mod reorder;
mod support;
#[cfg(test)]
mod tests;

pub use bits::*;
pub use count::*;
pub use cover::*;
pub use difference::*;
pub use partition::*;
pub use permitted::*;
pub use reach::*;
pub(crate) use reorder::*;
pub use support::*;
