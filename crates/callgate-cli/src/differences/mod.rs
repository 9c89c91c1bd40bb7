//! Syscalls for which two filters differ, as text and as Markdown.

mod markdown;
mod shared;
mod text;

pub(crate) use markdown::markdown;
pub(crate) use shared::Titles;
pub(crate) use text::{Shown, text};
