//! Which functions can be executed: those that are reachable from the entry points over calls and over addresses.
//!
//! A function is reachable if a reachable function calls it, or refers to its address, or if its address is in a data
//! object that a reachable function, or a reachable data object, refers to. So the target of an indirect call is never
//! computed: it must have come from a reachable place.

mod linkage;
mod units;
mod walk;

pub(crate) use linkage::Linkage;
pub(crate) use units::{Unit, Units};
pub(crate) use walk::{Call, Reach, Roots, walk};
