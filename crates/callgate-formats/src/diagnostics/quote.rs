//! Parts of a text as a message repeats them.

use callgate_bpf::diagnostic::{Diagnostic, Severity};

/// Maximum length of a quoted part, in characters.
const LIMIT: usize = 40;

/// The first forty characters of a text, with `…` when there are more.
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(LIMIT).collect();
    if text.chars().nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}

/// The help for an unknown word: the known word that is most similar to it, if there is one.
pub(crate) fn did_you_mean(near: Option<&str>, otherwise: &str) -> String {
    near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"))
}

/// A shortened key; characters outside ASCII are escaped as in JSON, because some look like ASCII letters.
pub fn escape_key(key: &str) -> String {
    let escape = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    shorten(key).chars().map(escape).collect()
}

/// A message about a text that must not be quoted, since readers of the message may not be allowed to see the text: the place
/// and the severity remain.
pub fn without_quotes(message: Diagnostic) -> Diagnostic {
    let what = match message.severity {
        Severity::Error => "this is not valid",
        Severity::Warning => "there is a warning about this",
    };
    Diagnostic {
        message: format!(
            "{what}; it is not shown, because the file is not in the tree of the source"
        ),
        help: String::new(),
        ..message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shortened_to_forty_characters() {
        assert_eq!(shorten(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(shorten(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }

    #[test]
    fn characters_outside_ascii_are_escaped_in_keys() {
        assert_eq!(escape_key("\u{17f}yscalls"), "\\u017fyscalls");
        assert_eq!(escape_key("a\u{1f600}"), "a\\ud83d\\ude00");
    }
}
