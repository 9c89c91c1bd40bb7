//! What the code of programs can do: finds the libraries of a program and analyses all of them.

mod load;
mod modules;
mod program;
mod remarks;
mod search;
mod sysroot;

pub(crate) use program::{Code, CodeCall, analyze};
pub(crate) use remarks::{check_sites, warn};
