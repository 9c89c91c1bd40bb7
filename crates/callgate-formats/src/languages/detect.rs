//! The language of a text that names none.

use super::language::{LanguageId, Likeness};
use super::registry::LANGUAGES;

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
