//! Sources: the way from a text or a program in any form to its filters, without I/O.
//!
//! A [`SourceText`] is everything that is known about a source before it is read: its [content](SourceContent) in memory, its
//! format and part, how it is [read](Reading), and the words of the caller for advice ([`Wording`]). [`read`] recognizes the
//! format, reads the content with the language of the registry or as a program, and gives its variables their values. The
//! result is a [`SourceStack`] of [`SourceFilter`]s; warnings are values. [`read_any`] also reads socket filters.
//!
//! Whatever needs files or the machine comes from a [`Loader`], which the caller passes to [`read_with`]; without one, files come
//! from the source itself ([`SourceText::files`]).
//!
//! Several sources are combined as an [`Expression`], `A + B - C ^ D`, whose value is a [`Combination`] of filters. A source of
//! several files is read from a [`Directory`].
//!
//! [`compile`] does all of it with the defaults:
//!
//! ```
//! let compiled = callgate::source::compile("ALLOW { read } DEFAULT KILL")?;
//! assert!(compiled.program.len() > 3);
//! # Ok::<(), callgate::source::SourceError>(())
//! ```
//!
//! The same in steps:
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
mod combination;
mod compile;
mod directory;
mod encoding;
mod expression;
mod filter;
mod format;
mod listing;
mod loader;
mod message;
mod operands;
mod packets;
mod program;
mod read;
mod recognize;
mod stack;
mod surroundings;
mod text;
mod unread;
mod value;
mod variables;
mod violations;
mod wording;

pub use arches::{arches_in, sort_arches_of_unit};
pub use callgate_formats::languages::Reading;
pub use combination::Combination;
pub use compile::{CompiledSource, SourceError, compile};
pub use directory::{Directory, android_lists, effective_drop_ins};
pub use encoding::utf8;
pub use expression::{Expression, Terms, is_expression, parse_denial};
pub use filter::{Content as FilterContent, Kinds, SourceFilter};
pub use format::{ProgramForm, SourceFormat};
pub use listing::{Listing, ListingReading};
pub use loader::{BasePlace, Loader};
pub use message::{Message, Messages};
pub use packets::{AnyFilter, SocketFilter, not_of_packets, read_any, socket_filter};
pub use read::{read, read_with};
pub use stack::{PROMPT, SourceStack};
pub use text::{BUILT_IN, Content as SourceContent, NamedText, SourceText, Texts};
pub use value::Value;
pub use variables::{given, values_of};
pub use violations::{SOCKET_FILTER, violations};
pub use wording::Wording;
