//! Drafts as text, and what the text means.
//!
//! What a form cannot say is left out of its meaning, too: systemd's lists have no numbers and no arguments, but
//! directives beside them limit some; profiles in JSON have no numbers. The meaning is checked against the recording before the text
//! is handed out; profiles in JSON are read back and must mean the same. For systemd's lists and Kafel
//! there is no reader here, so their text is not read back.

mod kafel;
mod oci;
mod systemd;
mod written;

pub use written::{Form, Written};
use written::{WHY_KERNEL, has_conditions, is_added_by_systemd, limits, origin, wrapped};
