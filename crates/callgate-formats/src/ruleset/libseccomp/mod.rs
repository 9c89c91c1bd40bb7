//! libseccomp's tree of comparisons.

mod tree;

pub(super) use tree::{Steps, Stop, Tree};
