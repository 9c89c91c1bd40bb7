//! Queries on decision diagrams that the proof does not need.

mod bits;
mod branches;
mod condition;
mod count;
mod cover;
mod difference;
mod orders;
mod partition;
mod permitted;
mod product_bound;
mod reach;
mod reorder;
mod support;
#[cfg(test)]
mod tests;
mod word_funcs;

pub use bits::*;
pub use branches::*;
pub use condition::*;
pub use count::*;
pub use cover::*;
pub use difference::*;
pub(crate) use orders::*;
pub use partition::*;
pub use permitted::*;
pub(crate) use product_bound::*;
pub use reach::*;
pub(crate) use reorder::*;
pub use support::*;
pub(crate) use word_funcs::*;
