//! Languages of policies, by the extensions of files.

use crate::{firecracker, minijail};

/// The language of a file.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Kafel's language ([`kafel`](crate::kafel)).
    Kafel,
    /// A policy of minijail ([`minijail`]).
    Minijail,
    /// A document of Firecracker or seccompiler ([`firecracker`]).
    Firecracker,
    /// A container profile, or a resource of Kubernetes ([`oci`](crate::oci)).
    Profile,
}

impl Language {
    /// The language of a file with an extension, where that is ambiguous also by its content; `None` for an extension of no
    /// language.
    pub fn of_extension(extension: &str, text: &[u8]) -> Option<Language> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        match extension {
            "kafel" => Some(Language::Kafel),
            "policy" if minijail::is_like_policy(text) => Some(Language::Minijail),
            "policy" => Some(Language::Kafel),
            "json" if firecracker::is_document(text) => Some(Language::Firecracker),
            "json" | "yaml" | "yml" => Some(Language::Profile),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_and_then_the_content_decide() {
        for (extension, text, language) in [
            ("kafel", "read: 1", Some(Language::Kafel)),
            ("policy", "read: 1", Some(Language::Minijail)),
            ("policy", "ALLOW { read }", Some(Language::Kafel)),
            ("json", "{}", Some(Language::Profile)),
            ("json", "\u{feff}{\"vmm\": {\"filter\": []}}", Some(Language::Firecracker)),
            ("yml", "", Some(Language::Profile)),
            ("txt", "ALLOW { read }", None),
        ] {
            assert_eq!(Language::of_extension(extension, text.as_bytes()), language, "{extension}");
        }
    }
}
