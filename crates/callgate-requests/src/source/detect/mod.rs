//! Detection of the format of a source that names none.

mod ambiguous;
mod android;
mod content;
mod kafel;
mod lxc;
mod unit;

pub use ambiguous::ambiguous;
pub use android::check_list_name;
pub use content::detect;
pub use unit::is_unit;
