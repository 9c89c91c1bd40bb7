//! Requests: their model, and how they are read from JSON.

mod call;
mod model;
mod options;
mod parse;
mod source;
mod values;

pub use model::{Call, Compiling, Operation, Recorded, Request};
pub(crate) use parse::parse;
pub use source::MAX_SOURCES;
