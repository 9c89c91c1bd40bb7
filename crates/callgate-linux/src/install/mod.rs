//! Installs filters: in one thread or in all, with or without `no_new_privs`, with or without a listener.

mod budget;
mod error;
mod installer;
mod machine;
mod stack;

pub use budget::{MAX_INSNS_PER_THREAD, budget_used, kernel_insns};
pub use error::{InstallError, InstallErrorKind};
pub(crate) use installer::code_of;
pub use installer::{Installer, install, install_unproved};
pub use machine::check_machine;
pub use stack::{install_unproved_stack, install_unproved_stack_in_all_threads};
