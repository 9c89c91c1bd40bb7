//! The registry of languages: what reads, writes, detects or changes policies asks it for them.
//!
//! A [`Language`] is everything that is known about one. [`LanguageId`] is a language under one of its names, such as
//! `docker` and `podman` for container profiles; it can be copied, printed and parsed.
//!
//! ```
//! use callgate_core::Arch;
//! use callgate_formats::languages::{Input, LanguageId, NoFiles, Reading, Text};
//!
//! let kafel: LanguageId = "kafel".parse()?;
//! let texts = [Text::of("ALLOW { read } DEFAULT KILL")];
//! let read = (kafel.language().read)(&Input::of(&texts), &Reading::new(Arch::X86_64), &mut NoFiles)?;
//! assert_eq!(read.filters.len(), 1);
//! assert!(LanguageId::written().any(|other| other == kafel));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod language;
mod reading;
mod registry;

pub use language::{
    Editor, EnosysRule, Files, Input, Language, LanguageId, Likeness, Name, Naming, NoFiles, Parts,
    ReadFilter, ReadFn, ReadResult, ReadSource, ReadingOption, SourceFiles, Text, Writer,
};
pub(crate) use language::{Writing, is_text, of_first, weights_of};
pub use reading::Reading;
pub use registry::{LANGUAGES, UnknownLanguage, detect, of_extension};
