//! Formats numbers, and escapes names from inputs.

use std::fmt;

use callgate_bpf::printable::{is_printable, visible};
use callgate_bpf::suggest::nearest;

/// Escapes text from an input, a file name or a process for messages and tables: see [`Printable`].
pub(crate) fn printable<T: AsRef<str> + ?Sized>(text: &T) -> Printable<'_> {
    Printable(text.as_ref())
}

/// Displays text in one line, with escapes for characters that are not printable.
///
/// All untrusted text passes through here before it is printed. JSON has its own escapes.
pub(crate) struct Printable<'a>(&'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.chars().all(is_printable) {
            return f.pad(self.0);
        }
        f.pad(&visible(self.0))
    }
}

/// The end of a message about a mistyped word: `; did you mean "docker"?`, or nothing if no known word is similar.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> String {
    let near = nearest(word, known.iter().copied());
    near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"))
}

/// `1 filter`, `2 processes`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = match what {
        _ if count == 1 => "",
        "process" => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", grouped(count))
}

/// `once`, `2 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// A file name as an argument in a shell: quoted if necessary, and never mistaken for an option or for the format of a
/// source.
pub(crate) fn argument(file: &str) -> String {
    let first = file.split('/').next().unwrap_or_default();
    let here = if file.starts_with('-') || first.contains(':') { "./" } else { "" };
    shell_word(&format!("{here}{file}"))
}

/// A word of a command line for a shell, quoted if necessary.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().all(is_printable) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    // Unprintable characters are written as octal bytes.
    let mut text = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => text.extend(['\\', c]),
            c if is_printable(c) => text.push(c),
            c => {
                let mut bytes = [0; 4];
                text.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")));
            }
        }
    }
    text + "'"
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::printable::HIDDEN;

    #[test]
    fn only_one_is_singular() {
        assert_eq!([counted(1, "process"), counted(2, "process")], ["1 process", "2 processes"]);
        assert_eq!([counted(0, "call"), counted(1, "call")], ["0 calls", "1 call"]);
        assert_eq!(counted(9495, "call"), "9,495 calls");
    }

    #[test]
    fn arguments_are_quoted_for_shells() {
        for (file, text) in [
            ("a-b/c_1.json", "a-b/c_1.json"),
            ("my log", "'my log'"),
            ("it's", r"'it'\''s'"),
            ("$(x)*", "'$(x)*'"),
            ("a\nb'\\", r"$'a\012b\'\\'"),
            ("-\u{202e}1", r"$'./-\342\200\2561'"),
            ("é", "'é'"),
            ("-o", "./-o"),
            ("- x", "'./- x'"),
            ("oci:x", "./oci:x"),
            ("./oci:x", "./oci:x"),
            ("/a/b:c", "/a/b:c"),
            ("", "''"),
        ] {
            assert_eq!(argument(file), text);
        }
    }

    #[test]
    fn unprintable_characters_are_escaped() {
        for (text, shown) in [
            ("a \"b\" \\ 'c' ~", "a \"b\" \\ 'c' ~"),
            ("é日本e\u{301}😀 عربي עברית", "é日本e\u{301}😀 عربي עברית"),
            ("a\nb\tc\r\u{1b}[2J\u{7f}\u{9b}", r"a\nb\tc\r\u{1b}[2J\u{7f}\u{9b}"),
            ("\u{61c}\u{200e}\u{200f}", r"\u{61c}\u{200e}\u{200f}"),
            ("\u{2028}\u{2029}\u{feff}\u{200b}", r"\u{2028}\u{2029}\u{feff}\u{200b}"),
        ] {
            assert_eq!(printable(text).to_string(), shown);
        }
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            assert_eq!(printable(&c.to_string()).to_string(), c.escape_default().to_string());
        }
        assert_eq!(format!("{:<6}|{:>6}|", printable("a\n"), printable("b")), r"a\n   |     b|");
    }

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
