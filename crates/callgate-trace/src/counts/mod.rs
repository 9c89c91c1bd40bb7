//! Counts of syscalls, for the weights of a filter. The format of a text is detected from its content:
//!
//! - two columns, a name and a count in either order, separated by white space;
//! - tables of `strace -c` (with any columns that `strace -U` selects) and `perf trace -s` (one table per thread, or one
//!   for all threads), any number of them. There may be other text around tables, such as the syscalls that `strace -C`
//!   and `perf trace -S` print before;
//! - a [recording](crate::recording) in JSON;
//! - a strace log or an audit log, see [`read`](crate::read).
//!
//! Empty lines and lines that start with `#` are skipped. Counts are finite numbers, at least 0; counts of the same name
//! add up. [`CountReader`] takes a text in pieces, so a log may be larger than the memory.
//!
//! Unknown names are warnings, or errors on request. Any other line that cannot be read is an error with its position;
//! all errors of a text are returned.

mod reader;
pub(crate) mod table;
mod words;

pub use reader::{CountReader, ReadCounts, read};

#[cfg(test)]
mod tests;
