//! Queries on decision diagrams that the proof does not need.

mod branches;
mod condition;
mod cover;
mod difference;
mod orders;
mod partition;
mod permitted;
mod product_bound;
mod quantified;
mod reach;
mod reorder;
#[cfg(test)]
mod tests;
mod word_funcs;

pub use branches::*;
pub use condition::*;
pub use cover::*;
pub use difference::*;
pub(crate) use orders::*;
pub use partition::*;
pub use permitted::*;
pub(crate) use product_bound::*;
pub use quantified::*;
pub use reach::*;
pub(crate) use reorder::*;
pub(crate) use word_funcs::*;
