//! Sources: the way from a text or a program in any form to its filters, without I/O.
//!
//! [`read`] recognizes the format of a [`SourceText`], reads it with the language of the registry or as a program, and gives
//! its variables their values. The result is a [`Stack`] of filters. Files that a text names come from the source itself
//! ([`SourceText::files`]), or from a loader ([`read_with`]).
//!
//! ```
//! use callgate::Arch;
//! use callgate::compile::Options;
//! use callgate::source::{Reading, SourceContent, SourceText, read};
//!
//! let content = SourceContent::Text("ALLOW { read } DEFAULT KILL".to_owned());
//! let mut warnings = Vec::new();
//! let stack = read(&SourceText::new(content, Reading::new(Arch::X86_64)), &mut warnings).map_err(|errors| {
//!     errors[0].diagnostic.to_string()
//! })?;
//! let compiled = stack.compile(&Options::default()).map_err(|errors| errors[0].diagnostic.to_string())?;
//! assert!(compiled.stats.insns > 0);
//! # Ok::<(), String>(())
//! ```

mod ambiguous;
mod arches;
mod filter;
mod format;
mod listing;
mod message;
mod read;
mod recognize;
mod unread;
mod value;
mod variables;
mod violations;

pub use ambiguous::ambiguous;
pub use arches::{arches_in, sort_arches_of_unit};
pub use callgate_formats::languages::Reading;
pub use filter::{Content as FilterContent, Filter, Stack};
pub use format::{ProgramForm, SourceFormat};
pub use listing::{Listing, ListingReading, from_linux3};
pub use message::{Message, Messages};
pub use read::{Content as SourceContent, SourceText, read, read_with, socket_filter};
pub use recognize::{explained, of_no_format};
pub use value::Value;
pub use variables::{given, values_of};
pub use violations::{SOCKET_FILTER, is_not_seccomp, violations};
