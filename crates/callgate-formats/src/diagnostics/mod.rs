//! Messages about a text.

pub mod messages;
