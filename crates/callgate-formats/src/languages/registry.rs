//! The list of all languages, and the language of a text that names none.

use std::fmt;
use std::str::FromStr;

use super::language::{Language, LanguageId, Likeness};
use crate::{
    android, firecracker, firejail, gvisor, kafel, libseccomp_c, libseccomp_python, lxc, minijail,
    nsjail, oci, pfc, policy_text, snap, systemd,
};

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
    &pfc::LANGUAGE,
    &firejail::LANGUAGE,
    &libseccomp_c::LANGUAGE,
    &libseccomp_python::LANGUAGE,
    &gvisor::LANGUAGE,
    &systemd::LANGUAGE,
    &policy_text::LANGUAGE,
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

/// The language that a text looks most like, with the extension of its file, and how much; `None` if it looks like none.
pub fn detect(extension: Option<&str>, text: &[u8]) -> Option<(LanguageId, Likeness)> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut best = None;
    for language in LANGUAGES {
        let likeness = (language.likeness)(extension, text);
        let is_better = best.is_none_or(|(_, most)| likeness > most);
        if likeness > Likeness::None && is_better {
            best = Some((LanguageId::of(language), likeness));
        }
    }
    best
}

/// The language of a file with an extension, where that is ambiguous also by its content; `None` for an extension of no
/// language.
pub fn of_extension(extension: &str, text: &[u8]) -> Option<LanguageId> {
    let found = detect(Some(extension), text);
    let by_extension = [Likeness::RestOfExtension, Likeness::Extension];
    found.filter(|(_, likeness)| by_extension.contains(likeness)).map(|(language, _)| language)
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
        let docs =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/languages");
        for language in LANGUAGES {
            let page = docs.join(format!("{}.md", language.page));
            assert!(page.exists(), "{}", page.display());
        }
    }

    #[test]
    fn the_extension_and_then_the_content_decide() {
        for (extension, text, language) in [
            ("kafel", "read: 1", Some("kafel")),
            ("policy", "read: 1", Some("minijail")),
            ("policy", "ALLOW { read }", Some("kafel")),
            ("json", "{}", Some("oci")),
            ("json", "\u{feff}{\"vmm\": {\"filter\": []}}", Some("firecracker")),
            ("yml", "", Some("oci")),
            ("txt", "ALLOW { read }", None),
        ] {
            let found = of_extension(extension, text.as_bytes());
            assert_eq!(found.map(LanguageId::name), language, "{extension}");
        }
    }
}
