//! Documents with positions: JSON and YAML as trees, and the reader that walks them.

pub mod json;
pub mod keys;
pub mod reader;
mod strict;
pub mod tree;
pub mod yaml;
