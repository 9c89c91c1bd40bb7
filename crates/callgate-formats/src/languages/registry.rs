//! The list of all languages.

use std::fmt;
use std::str::FromStr;

use super::language::{Language, LanguageId};
use crate::{android, firecracker, kafel, lxc, minijail, nsjail, oci, snap, systemd};

/// All languages. Of two that a text looks like equally, the first is detected.
pub const LANGUAGES: &[&Language] = &[
    &oci::LANGUAGE,
    &kafel::LANGUAGE,
    &firecracker::LANGUAGE,
    &minijail::LANGUAGE,
    &lxc::LANGUAGE,
    &snap::LANGUAGE,
    &android::LANGUAGE,
    &nsjail::LANGUAGE,
    &systemd::LANGUAGE,
];

impl LanguageId {
    /// All names of all languages, in the order of the registry.
    pub fn all() -> impl Iterator<Item = LanguageId> + Clone {
        LANGUAGES.iter().flat_map(|language| {
            (0..language.names.len()).map(move |index| LanguageId::of_name(language, index))
        })
    }

    /// The names under which sources are read.
    pub fn read() -> impl Iterator<Item = LanguageId> + Clone {
        LanguageId::all().filter(|id| id.is_read())
    }

    /// The names under which policies are written.
    pub fn written() -> impl Iterator<Item = LanguageId> + Clone {
        LanguageId::all().filter(|id| id.writer().is_some())
    }
}

/// The error for a name of no language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLanguage(String);

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown language \"{}\"", self.0)
    }
}

impl std::error::Error for UnknownLanguage {}

impl FromStr for LanguageId {
    type Err = UnknownLanguage;

    /// The language with this name, or with this other name.
    fn from_str(name: &str) -> Result<LanguageId, UnknownLanguage> {
        let is_it = |id: &LanguageId| id.name() == name || id.alias() == Some(name);
        LanguageId::all().find(is_it).ok_or_else(|| UnknownLanguage(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_one_language() {
        let mut names: Vec<&str> = LanguageId::all().map(LanguageId::name).collect();
        names.extend(LanguageId::all().filter_map(LanguageId::alias));
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            assert!(name.parse::<LanguageId>().is_ok(), "{name}");
        }
        assert_eq!("kubernetes".parse::<LanguageId>().map(LanguageId::name), Ok("k8s"));
        assert!("kafle".parse::<LanguageId>().is_err());
    }

    #[test]
    fn each_language_has_a_page() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for language in LANGUAGES {
            let page = docs.join(format!("{}.md", language.page));
            assert!(page.exists(), "{}", page.display());
        }
    }
}
