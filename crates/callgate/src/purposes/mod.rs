//! What syscalls are for, and which are dangerous: for reports, headlines of explanations and checks of filters.
//!
//! Each syscall of the tables belongs to exactly one [`Purpose`], the one that people would look for first. The
//! groups describe syscalls to people. They have no meaning for filters, unlike the groups of systemd (`@mount`, …),
//! and may change with any release.

mod allowed;
mod danger;
mod danger_list;
mod purpose;

pub use allowed::{AllowedDanger, FurtherDanger, allowed_dangers, further_dangers};
pub use danger::{Danger, DangerousValue, Power, Severity};
#[cfg(feature = "sources")]
pub(crate) use danger_list::with_power;
pub use danger_list::{danger, danger_in_words};
pub use purpose::Purpose;
