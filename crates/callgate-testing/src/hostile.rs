//! What tests of readers with hostile texts share: the text is read, or refused with a message.

use std::fmt::Write;

use callgate_bpf::diagnostic::Diagnostics;

use crate::is_thorough;

/// A text that is designed to be expensive: its name, its generator for a size in bytes, and the start of the answer.
pub type Expensive = (&'static str, fn(usize) -> String, &'static str);

/// The answer of a reader: "read", or its first message.
///
/// # Panics
/// If the reader refuses the text without a message.
pub fn answer<T>(result: Result<T, Diagnostics>) -> String {
    match result {
        Ok(_) => "read".to_owned(),
        Err(messages) => messages[0].message.clone(),
    }
}

/// Checks the answers to texts of about this size.
///
/// # Panics
/// If an answer is not the expected one.
pub fn expect_answers(texts: &[Expensive], size: usize, answer: impl Fn(&str) -> String) {
    for (name, make, expected) in texts {
        let answer = answer(&make(size));
        assert!(answer.starts_with(expected), "{name}: {answer}");
    }
}

/// Calls `read` with the beginnings and the ends of a text, and with the text where one character is replaced by each
/// of these; at every fourth character unless [`is_thorough`].
pub fn damage<T>(text: &str, replacements: &[&str], read: impl FnMut(&str) -> T) {
    damage_every(if is_thorough() { 1 } else { 4 }, text, replacements, read);
}

fn damage_every<T>(
    step: usize,
    text: &str,
    replacements: &[&str],
    mut read: impl FnMut(&str) -> T,
) {
    for (at, old) in text.char_indices().step_by(step) {
        let (before, after) = (&text[..at], &text[at + old.len_utf8()..]);
        read(before);
        read(&text[at..]);
        for new in replacements {
            read(&format!("{before}{new}{after}"));
        }
    }
}

/// As many items as have this size in bytes.
pub fn fill(size: usize, between: &str, mut item: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(size + 200);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        let between = if number == 0 { "" } else { between };
        let _ = write!(text, "{between}{}", item(number));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_texts_are_parts_and_changes() {
        let mut texts = Vec::new();
        damage_every(1, "aé", &["", "x"], |text| texts.push(text.to_owned()));
        assert_eq!(texts, ["", "aé", "é", "xé", "a", "é", "a", "ax"]);
    }

    #[test]
    fn items_fill_a_size() {
        assert_eq!(fill(4, ", ", |number| number.to_string()), "0, 1");
        assert_eq!(fill(0, ",", |number| number.to_string()), "");
    }

    #[test]
    #[should_panic(expected = "a: x")]
    fn another_answer_is_a_failure() {
        expect_answers(&[("a", |_| "x".to_owned(), "read")], 1, str::to_owned);
    }
}
