//! Reader of file tests: a filter, and below it what the compiler makes of it.
//!
//! A file begins with a sentence that says what it shows, and settings (`key: value`). Parts follow, each after a
//! line that begins with `---`. The first part is the filter:
//!
//! - `profile`: a container profile in JSON;
//! - `rules`: rules with nested conditions (see `rules.rs`);
//! - `program`: a program in any textual form.
//!
//! | setting | meaning |
//! |---|---|
//! | `arches` | the architectures; default: x86_64, and for a profile those that it adds |
//! | `dialect`, `kernel`, `caps`, `enosys-above` | how to read a profile; default: kernel 6.18, no capabilities, `off` |
//! | `endian` | the byte order of a program; default: `little` |
//!
//! A malformed file makes the reader panic, because file tests belong to this project.

mod file;
mod rules;

pub use file::{FileTest, Filter};
