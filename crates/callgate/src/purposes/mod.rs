//! What syscalls are for, and which are dangerous: for reports, headlines of explanations and checks of filters.
//!
//! Each syscall of the tables belongs to exactly one [`Purpose`], the one that people would look for first. The
//! groups describe syscalls to people. They have no meaning for filters, unlike the groups of systemd (`@mount`, …),
//! and may change with any release.

mod allowed;
mod beyond;
mod danger;
mod members;
mod purpose;

pub use allowed::{AllowedDanger, allowed_dangers};
pub use beyond::{FurtherDanger, further_dangers};
pub use danger::{Danger, DangerousValue, Severity, danger};
pub use purpose::Purpose;
