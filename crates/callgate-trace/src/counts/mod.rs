//! How often calls happen, as tools write it down. The content tells the form:
//!
//! - two columns, a name and a count in either order, with white space between;
//! - a table of `strace -c` (with any columns that `strace -U` chooses) or `perf trace -s` (one table
//!   for each thread, or one in all), or any number of them one after the other. Around tables there
//!   may be other text, such as the calls that `strace -C` and `perf trace -S` list first;
//! - a [`recording`](crate::recording) in JSON;
//! - a log of calls one by one that [`read`](crate::read) reads, of strace or of the audit system.
//!
//! Empty lines and lines that start with `#` are skipped. Counts are finite numbers from 0 on; those of a name
//! that is there several times add up. [`Reader`] takes a text in pieces, so a log may be larger than the memory.
//! Names that no kernel knows are warnings, or
//! errors for those who ask for it; everything else that is not understood is an error, all of which
//! are given back with their places.

mod reader;
pub(crate) mod table;
mod words;

pub use reader::{Counts, Reader, read};
pub(crate) use reader::{SUGGESTIONS, unknown_name};

#[cfg(test)]
mod tests;
