//! Hostile inputs: a repeated unit between a head and a tail.

mod android;
mod input;
mod kafel;
mod logs;
mod packets;
mod policies;
mod profiles;
mod programs;
mod readers;
mod units;

pub(super) use input::{Input, Reader};
pub(super) use readers::readers;
