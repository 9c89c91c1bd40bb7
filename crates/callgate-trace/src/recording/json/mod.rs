//! Recordings in JSON. The [documentation of recordings](crate::recording#json-format) describes the format.

mod args;
pub(crate) mod entry;
mod fields;
pub(crate) mod header;
mod only_in;
pub(crate) mod read;
mod runs;
mod truncated;
mod write;
