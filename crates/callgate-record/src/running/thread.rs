//! A thread of a target.

/// A thread, and the process that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) process: u32,
    pub(crate) id: u32,
}
