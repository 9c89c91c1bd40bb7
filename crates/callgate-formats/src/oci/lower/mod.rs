//! From the typed model of a profile to a policy: which entries apply on which architectures, how they combine, and
//! the ENOSYS check before them.

mod arches;
mod checks;
mod conflicts;
mod enosys;
mod policy;
mod rules;
mod statements;

pub use policy::BAD_ARCH;
pub(super) use policy::lower;
