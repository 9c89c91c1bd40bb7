//! Filter contexts: rules per architecture, attributes, transactions, and the program that results.

mod attributes;
mod compile;
mod filters;
mod rule;

pub(crate) use attributes::{Attribute, Attributes};
pub(crate) use compile::Exported;
pub(crate) use filters::{ArchFilter, Context};
pub(crate) use rule::NewRule;

#[cfg(test)]
mod tests;
