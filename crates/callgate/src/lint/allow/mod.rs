//! Silencing findings: by options, and by comments in the text.

mod comments;
mod objects;
mod option;
mod silence;

pub use comments::AllowText;
pub use option::{Allow, AllowError};
pub use silence::{Allowed, allow};
