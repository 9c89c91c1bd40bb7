//! Filter contexts: rules per architecture, attributes, transactions, and the program that results.

mod arch_filter;
mod attributes;
mod compile;
mod filters;
mod rule;

pub(crate) use arch_filter::ArchFilter;
pub(crate) use attributes::{Attribute, Attributes};
pub(crate) use compile::Exported;
pub(crate) use filters::Context;
pub(crate) use rule::NewRule;

#[cfg(test)]
mod tests;
