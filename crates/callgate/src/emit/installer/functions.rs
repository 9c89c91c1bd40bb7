//! The functions in each language.

use super::manner::{Installed, Manner};
use super::{c, go, rust};
use crate::emit::language::Language;
use crate::emit::names::Names;

/// The functions that install a filter.
pub(in crate::emit) fn functions(
    language: Language,
    names: &Names,
    manner: Manner,
    installed: &Installed<'_>,
) -> String {
    match language {
        Language::C => c::functions(names, manner, installed),
        Language::Rust => rust::functions(names, manner, installed),
        Language::Go => go::functions(names, manner, installed),
    }
}
