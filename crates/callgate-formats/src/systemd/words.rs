//! Words of a value, separated by blanks (`extract_first_word` in systemd's `extract-word.c`).

use super::lines::BLANK;

/// A word, and its index in the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: usize,
}

/// The words of a value. Where the syntax is invalid, its index, and a description; the words before are valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    pub(super) error: Option<(usize, &'static str)>,
}

/// Splits a value. A backslash stands for the character after it. `quotes` tells whether single and double quotes enclose
/// words.
pub(super) fn words(value: &str, quotes: bool) -> Words {
    let mut found = Words { words: Vec::new(), error: None };
    let mut word: Option<Word> = None;
    let mut letters = value.char_indices();
    while let Some((at, c)) = letters.next() {
        if BLANK.contains(&c) {
            found.words.extend(word.take());
            continue;
        }
        let own = word.get_or_insert_with(|| Word { text: String::new(), at });
        match c {
            '\\' => match letters.next() {
                Some((_, escaped)) => own.text.push(escaped),
                None => {
                    found.error = Some((at, "nothing follows the backslash"));
                    return found;
                }
            },
            '"' | '\'' if quotes => loop {
                match letters.next() {
                    Some((_, end)) if end == c => break,
                    Some((_, '\\')) => own.text.extend(letters.next().map(|(_, escaped)| escaped)),
                    Some((_, inside)) => own.text.push(inside),
                    None => {
                        found.error = Some((at, "the quote is not closed"));
                        return found;
                    }
                }
            },
            other => own.text.push(other),
        }
    }
    found.words.extend(word);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str, quotes: bool) -> Vec<(String, usize)> {
        words(value, quotes).words.into_iter().map(|word| (word.text, word.at)).collect()
    }

    #[test]
    fn blanks_separate_words() {
        let word = |text: &str, at| (text.to_owned(), at);
        assert_eq!(of(" a\tbc\r ", false), [word("a", 1), word("bc", 3)]);
        assert_eq!(of("a\\ b \\x", false), [word("a b", 0), word("x", 5)]);
        assert_eq!(of("'a b' c\"d\\\"\"e", true), [word("a b", 0), word("cd\"e", 6)]);
        assert_eq!(of("'a b'", false), [word("'a", 0), word("b'", 3)]);
        assert_eq!(of("''", true), [word("", 0)], "an empty word");
        assert!(of("", true).is_empty());
    }

    #[test]
    fn the_words_before_an_error_are_kept() {
        let found = words("a b\\", false);
        assert_eq!(
            (found.words.len(), found.error),
            (1, Some((3, "nothing follows the backslash")))
        );
        let found = words("a 'b", true);
        assert_eq!((found.words.len(), found.error), (1, Some((2, "the quote is not closed"))));
        assert!(words("'\\", true).error.is_some());
    }
}
