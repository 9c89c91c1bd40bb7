//! Diagnostics: messages about a text, with the line and column that each is about.
//!
//! A reader adds errors and warnings to [`messages::Messages`] and goes on, so that one run reports all of
//! them. [`positions`] turns byte offsets into lines and columns, [`quote`] shortens and escapes the parts of
//! the text that a message repeats, and `suggestions` limits the searches for similar words.

pub mod messages;
pub mod positions;
pub mod quote;

pub(crate) use positions::Texts;
