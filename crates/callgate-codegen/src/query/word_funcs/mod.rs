//! Functions of one word in a compact form.
//!
//! The planner of a word asks very many questions about a few functions. So it copies them from the diagram, as far as
//! they test the word. Nodes have small numbers here, greater than those of their children: intermediate results are
//! lists instead of hash tables. A node knows the bits on which it depends. As in the diagram, equal functions are the
//! same node.
//!
//! Every operation counts steps, which the user charges to the budget of the diagram.

mod cofactors;
mod cover;
mod measures;
mod nodes;
#[cfg(test)]
mod tests;

pub(crate) use nodes::{Bounds, Size, WordFunc, WordFuncs};
