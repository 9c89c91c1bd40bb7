//! Sources: texts and programs that are filters, without the files and processes of the command.

mod arches;
mod detect;
mod filter;
mod format;
mod listing;
mod message;
mod options;
mod read;
pub(crate) mod settings;
mod variables;
mod violations;

pub use arches::arches_in;
pub use detect::{detect, is_unit};
pub use filter::{Content as FilterContent, Filter, Stack};
pub use format::{FORMATS, ProgramForm, SourceFormat};
pub use listing::{linux3_warning, listing_warnings};
pub use message::{Message, Messages};
pub use options::Reading;
pub use read::{Content as SourceContent, Format, SourceText, read};
pub use variables::{given, values_of};
pub use violations::violations;
