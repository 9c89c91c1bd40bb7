//! Filter contexts: rules per architecture, attributes, transactions, and the program that results.

mod compile;
mod filters;
mod rule;

#[cfg(test)]
mod tests;

pub(crate) use compile::{ArchFilter, Attribute, Attributes, Exported};
pub(crate) use filters::Context;
pub(crate) use rule::NewRule;
