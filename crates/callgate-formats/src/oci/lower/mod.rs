//! The model of a profile into a policy.

mod rules;

pub use rules::BAD_ARCH;
pub(super) use rules::lower;
