//! Logs of other tools, read line by line.

pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod lines;
pub(crate) mod strace;
