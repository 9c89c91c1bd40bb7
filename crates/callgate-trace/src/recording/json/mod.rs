//! Recordings in JSON.

mod partial;
pub(crate) mod read;
mod write;

pub(crate) use write::Quoted;
