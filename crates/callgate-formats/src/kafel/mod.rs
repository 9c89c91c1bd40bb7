//! Kafel, the policy language of nsjail, and its reader.
//!
//! The language is that of Kafel's README and of its grammar (`src/lexer.l`, `src/parser.y`); what a policy means
//! follows its code generator (`src/codegen.c`, `src/range_rules.c`):
//!
//! - `#define NAME NUMBER`, `#include "file"`, `POLICY name { … }`, `USE name`, `DEFAULT action`, and blocks
//!   `ACTION { syscall { expression }, … }`. The first rule that matches decides; without `DEFAULT` the others get `KILL`.
//!   Syscalls of other architectures are killed.
//! - A policy that is used again has no further effect, because its rules were already tested.
//! - Expressions compare arguments, unsigned, with `== != < <= > >=`. `&` and `|` bind more tightly than comparisons.
//!   A comparison of 32-bit arguments with numbers below 2³² ignores the high halves of the registers; every other one
//!   compares 64 bits. Parameters that the policy names itself have 64 bits.
//! - Names of syscalls are those of the kernel's functions ([`names`]): on 32-bit x86, `getuid` is `getuid32`.
//!
//! The reader also accepts what no Kafel policy can mean otherwise: the names of the kernel's tables (`uname`
//! besides `newuname`), the kernel's [constants](callgate_bpf::constants) wherever a number may stand, `USE a, b` as
//! old versions of Kafel, numbers of other architectures, and names that start with `_`.
//!
//! It refuses, with a message, comments that Kafel does not end where C does, and comparisons of several arguments that
//! depend on more than 16 bits of each, because their MTBDD would be too large.
//!
//! A reader does no I/O, so included files come from a function that the caller gives.
//!
//! Limits: 10 MiB of text with all included files, 1,000 inclusions, 16 of them inside each other, 1,000,000 rules
//! and 150,000 comparisons with 1,000,000 tests of arguments (counted for each architecture), 1,000,000 parts of
//! expressions, 200 levels of nested `&&` and `||`.

mod condition;
mod edit;
mod evaluate;
mod filter;
mod language;
mod lexer;
mod lower;
mod model;
pub mod names;
mod parse;
mod read;
mod text;
mod word;
mod write;

pub use crate::included::{Included, Includes};
pub use language::LANGUAGE;
pub(crate) use language::options;
pub(crate) use names::has_argument;
pub use read::{ReadOptions, read, read_with_includes};
