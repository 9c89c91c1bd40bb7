//! YAML text into a tree.

mod builder;
#[cfg(test)]
mod tests;

pub use builder::parse;
