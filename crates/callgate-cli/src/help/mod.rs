//! Help: options under headings, and the short help of `-h`.

mod asked;
mod forms;
mod headings;
mod short;

pub(crate) use asked::{asked_command, asked_for_all, asked_for_version, is_short};
pub(crate) use forms::forms_of_sources;
pub(crate) use headings::{CHECKING, with_headings};
pub(crate) use short::{all_commands, short_help};
