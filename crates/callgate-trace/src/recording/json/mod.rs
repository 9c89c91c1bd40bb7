//! Recordings in JSON. The [documentation of recordings](crate::recording#json-format) describes the format.

pub(crate) mod entry;
pub(crate) mod read;
mod write;
