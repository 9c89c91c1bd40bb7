//! Sources: texts and programs that are filters, without the files and processes of the command.

mod ambiguous;
mod arches;
mod filter;
mod format;
mod listing;
mod message;
mod read;
mod recognize;
pub(crate) mod unread;
mod variables;
mod violations;

pub use ambiguous::ambiguous;
pub use arches::{arches_in, sort_arches_of_unit};
pub use callgate_formats::languages::Reading;
pub use filter::{Content as FilterContent, Filter, Stack};
pub use format::{ProgramForm, SourceFormat};
pub use listing::{Listing, ListingReading, from_linux3};
pub use message::{Message, Messages};
pub use read::socket_filter;
pub use read::{Content as SourceContent, SourceText, read};
pub use recognize::{explained, of_no_format};
pub use variables::{given, values_of};
pub use violations::{SOCKET_FILTER, is_not_seccomp, violations};
