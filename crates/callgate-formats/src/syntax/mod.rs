//! Documents with positions: JSON and YAML as one kind of tree, and the reader that walks it.
//!
//! [`json`] and [`yaml`] build a [`tree`] in which each key and value has its byte offset. A policy language
//! written in JSON or YAML walks the tree with a [`reader::Reader`], which checks types, ranges and keys and
//! collects messages. [`reader::KeyMatching`] says how keys are compared, because programs differ in that.

pub(crate) mod documents;
pub mod json;
pub mod reader;
pub mod tree;
#[cfg(feature = "yaml")]
pub mod yaml;
