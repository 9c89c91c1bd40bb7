//! What syscalls are for, and which are dangerous: for reports, headlines of explanations and checks of filters.
//!
//! Each syscall of the tables belongs to exactly one [`Purpose`], the one that people would look for first. The
//! groups describe syscalls to people. They have no meaning for filters, unlike the groups of systemd (`@mount`, …),
//! and may change with any release.

mod danger;
mod purpose;

pub use danger::{
    AllowedDanger, Danger, DangerousValue, FurtherDanger, Severity, allowed_dangers, danger,
    further_dangers,
};
pub use purpose::Purpose;
