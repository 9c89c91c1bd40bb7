//! Sources: texts and programs that are filters, without the files and processes of the command.

mod arches;
mod detect;
mod filter;
mod format;
mod listing;
mod message;
mod options;
mod read;
mod recognize;
pub(crate) mod settings;
mod unit;
mod unread;
mod variables;
mod violations;

pub use arches::{arches_in, sort_arches_of_unit};
pub use detect::{ambiguous, check_list_name, detect, is_unit};
pub use filter::{Content as FilterContent, Filter, Stack};
pub use format::{FORMATS, ProgramForm, SourceFormat};
pub use listing::{Listing, ListingReading, from_linux3};
pub use message::{Message, Messages};
pub use options::Reading;
pub(crate) use read::socket_filter;
pub use read::{Content as SourceContent, Format, SourceText, read};
pub use recognize::{explained, of_no_format};
pub use unit::{UNIT_HEADER, suffix_of_unit, without_processes};
pub use variables::{given, values_of};
pub use violations::{SOCKET_FILTER, is_not_seccomp, violations};
