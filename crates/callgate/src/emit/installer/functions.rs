//! The functions in each language.

use super::manner::{Installed, Manner};
use super::{c, go, rust};
use crate::emit::language::SourceLanguage;
use crate::emit::names::Names;

/// The functions that install a filter.
pub(in crate::emit) fn functions(
    language: SourceLanguage,
    names: &Names,
    manner: Manner,
    installed: &Installed<'_>,
) -> String {
    match language {
        SourceLanguage::C => c::functions(names, manner, installed),
        SourceLanguage::Rust => rust::functions(names, manner, installed),
        SourceLanguage::Go => go::functions(names, manner, installed),
    }
}
