//! Which constants registers and stack slots hold, and what they have from the caller.
//!
//! A forward data-flow analysis of one function: each register has a set of [`Atom`]s, or any value. Sets are joined
//! where control flow joins.

mod flow;
mod known;
mod pointers;
mod returns;
mod state;
mod value;

pub(crate) use flow::{Budget, FunctionValues};
pub(crate) use pointers::Pointer;
pub(crate) use returns::Returns;
pub(crate) use state::State;
pub(crate) use value::{Atom, Value};
