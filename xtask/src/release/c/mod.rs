//! Part `c`: libcallgate for C and C++.

mod build;
mod check;

pub(super) use build::build;
pub(super) use check::check;
