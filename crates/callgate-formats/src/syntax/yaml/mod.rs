//! Parser from YAML 1.2 to a tree.
//!
//! Only texts that every YAML parser reads alike are accepted:
//!
//! - no directives. [`parse`] accepts exactly one document, [`parse_all`] several, which must all be valid;
//! - no anchors, aliases and merge keys, so that a value stands where it is used, and a small text cannot
//!   expand to a huge tree;
//! - no tags;
//! - keys are scalars, taken as written. A repeated key is an error in every mapping (YAML 1.2.2, 3.2.1.1), not
//!   only in those that are read;
//! - a plain scalar is null, a boolean, a number or a string by the core schema of YAML 1.2 (10.3.2); a quoted
//!   or block scalar is a string. So `yes` is a string. Numbers are kept as written:
//!   [`integer`](crate::syntax::tree::integer) reads `0x` and `0o`;
//! - no U+0000, because programs written in C end a string there.
//!
//! The `saphyr-parser` crate provides events; the builder makes the tree from them with an explicit stack
//! instead of recursion. Nesting deeper than 255 levels and texts longer than 2 MiB are errors. The parser is
//! stricter than YAML in one more case: it rejects a tab between `key:` and a word.

mod builder;
mod offsets;
mod scalar;
#[cfg(test)]
mod tests;

pub use builder::{parse, parse_all};
