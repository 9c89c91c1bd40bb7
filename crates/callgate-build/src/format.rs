//! Formats of policies, and their detection.

use callgate_formats::languages::{LanguageId, of_extension};
use std::fmt;
use std::path::Path;

/// The format of a policy: a language for a policy of one program, under one of its names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Format(pub(crate) LanguageId);

impl Format {
    /// The format with a name such as `kafel` or `docker`, as in `callgate compile FORMAT:FILE`. The command also reads formats
    /// that are not policies for one program, such as systemd units, snap profiles and programs.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::all().find(|format| format.0.name() == name)
    }

    /// The names that [`Format::from_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Format::all().map(|format| format.0.name())
    }

    /// The format of a file by its extension, where that is ambiguous also by its content; `None` for an unknown extension.
    #[must_use]
    pub fn of(path: &Path, text: &str) -> Option<Format> {
        let language = of_extension(path.extension()?.to_str()?, text.as_bytes());
        language.map(Format).filter(|format| format.is_known())
    }

    fn all() -> impl Iterator<Item = Format> {
        LanguageId::read().map(Format).filter(|format| format.is_known())
    }

    fn is_known(self) -> bool {
        self.0.language().for_builds
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_and_then_the_content_decide() {
        for (path, text, format) in [
            ("a.kafel", "read: 1", Some("kafel")),
            ("a.policy", "read: 1", Some("minijail")),
            ("a.policy", "ALLOW { read }", Some("kafel")),
            ("a.json", "{}", Some("oci")),
            ("a.json", "\u{feff}{\"vmm\": {\"filter\": []}}", Some("firecracker")),
            ("a.yml", "", Some("oci")),
            ("a.txt", "ALLOW { read }", None),
            ("kafel", "ALLOW { read }", None),
        ] {
            let found = Format::of(Path::new(path), text);
            assert_eq!(found.map(|found| found.0.name()), format, "{path}");
            // Which runtime reads a profile is detected, too.
            assert!(found.is_none_or(|found| found.0.given_name().is_none()), "{path}");
        }
    }

    #[test]
    fn names_are_known() {
        assert!(Format::names().all(|name| Format::from_name(name).is_some()));
        assert_eq!(Format::from_name("docker").map(|format| format.0.name()), Some("docker"));
        assert_eq!(Format::from_name("Docker"), None);
    }
}
