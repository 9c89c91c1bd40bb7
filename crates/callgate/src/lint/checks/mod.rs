//! The checks. Each file has one group, its facts above its code.

mod abis;
mod all;
mod alternatives;
mod arguments;
mod capabilities;
mod cost;
mod fallbacks;
mod lists;
mod multiplexers;
mod needed;
mod powerful;
mod reader;
mod rules;
mod siblings;
mod verdicts;

pub(in crate::lint) use all::{ALL, EVASIONS, Group};
