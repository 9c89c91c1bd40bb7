//! Detection of the format of a source that names none.

mod android;
mod content;
mod firecracker;
mod kafel;
mod lxc;
mod minijail;
mod unit;

pub use content::detect;
pub use unit::is_unit;
