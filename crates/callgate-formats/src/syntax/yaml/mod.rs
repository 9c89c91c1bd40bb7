//! Parser from YAML 1.2 to a tree.
//!
//! Only texts that every YAML reader takes for the same tree are accepted. The readers that matter are those of YAML 1.1, such
//! as go-yaml, with which Kubernetes reads its resources, and PyYAML, beside those of YAML 1.2:
//!
//! - no character that YAML does not allow, or that ends a line for some readers only (`characters`);
//! - no directives. [`parse`] accepts exactly one document, [`parse_all`] several, which must all be valid, and each after
//!   the first begins with a line `---`;
//! - no anchors, aliases and merge keys, so that a value stands where it is used, and a small text cannot
//!   expand to a huge tree;
//! - no tags;
//! - a plain scalar is null, a boolean, a number or a string by the core schema of YAML 1.2 (10.3.2), and an error if YAML 1.1
//!   gives it another type or value, such as `yes`, `010` or `1_000` (`scalar`); a quoted or block scalar is a string. Numbers
//!   are kept as written: [`integer`](crate::syntax::tree::integer) reads `0x` and `0o`;
//! - keys are strings, or integers, taken as written. A repeated key is an error in every mapping (YAML 1.2.2, 3.2.1.1), not
//!   only in those that are read;
//! - no U+0000, because programs written in C end a string there.
//!
//! `cargo lab yaml` compares with Kubernetes' reader.
//!
//! The `saphyr-parser` crate provides events; the builder makes the tree from them with an explicit stack
//! instead of recursion. Nesting deeper than 255 levels and texts longer than 2 MiB are errors. The parser is
//! stricter than YAML in one more case: it rejects a tab between `key:` and a word.

mod builder;
mod characters;
mod scalar;
#[cfg(test)]
mod tests;

pub use builder::{parse, parse_all};
