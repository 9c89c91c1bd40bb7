//! Requests: their model, and how they are read from JSON.

mod call;
mod model;
mod options;
mod parse;
mod source;
mod values;

pub use model::{Call, Compiling, Operation, Recorded, Request};
pub use parse::MAX_SOURCES;
pub(crate) use parse::parse;
