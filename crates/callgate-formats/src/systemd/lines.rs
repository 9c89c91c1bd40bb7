//! Logical lines of a unit file: continuations joined, comments and empty lines left out.
//!
//! As `config_parse` and `parse_line` in systemd's `conf-parser.c`: a line whose last character is a backslash that no
//! other one escapes goes on in the next line, with a space in place of the backslash. Lines that start with `#` or `;`
//! are comments, also between the lines of a continuation. A line ends with LF, CR, CR LF or LF CR. One byte order mark is
//! skipped at the start of a line.

/// The characters that systemd strips from lines, keys and values.
pub(super) const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// A byte order mark.
const MARK: char = '\u{feff}';

/// A part of a text that consists of pieces of several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Logical {
    pub(super) text: String,
    /// Where pieces start: in this text, and in the file.
    pieces: Vec<(usize, usize)>,
}

impl Logical {
    /// A text that is a part of the file as it is.
    #[cfg(test)]
    pub(super) fn plain(text: &str, offset: usize) -> Logical {
        Logical { text: text.to_owned(), pieces: vec![(0, offset)] }
    }

    /// The offset in the file of an index in this text.
    pub(super) fn offset(&self, index: usize) -> usize {
        let piece = self.pieces.partition_point(|(start, _)| *start <= index).saturating_sub(1);
        let (start, offset) = self.pieces.get(piece).copied().unwrap_or_default();
        offset + index.saturating_sub(start)
    }

    /// A part without the blanks around it.
    pub(super) fn part(&self, start: usize, end: usize) -> Logical {
        let text = self.text.get(start..end).unwrap_or_default();
        let start = start + text.len() - text.trim_start_matches(BLANK).len();
        let text = text.trim_matches(BLANK);
        let mut pieces = vec![(0, self.offset(start))];
        // Many parts of a line with many pieces would take quadratic time if each looked at all of them.
        let first = self.pieces.partition_point(|(at, _)| *at <= start);
        let later = self.pieces.iter().skip(first).take_while(|(at, _)| *at < start + text.len());
        pieces.extend(later.map(|(at, offset)| (at - start, *offset)));
        Logical { text: text.to_owned(), pieces }
    }

    /// The whole text without the blanks around it.
    pub(super) fn trimmed(&self) -> Logical {
        self.part(0, self.text.len())
    }

    fn push(&mut self, line: &str, offset: usize) {
        self.pieces.push((self.text.len(), offset));
        self.text += line;
    }
}

/// The logical lines of a text.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    mark_is_seen: bool,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Lines<'t> {
        Lines { text, at: 0, mark_is_seen: false }
    }

    /// The next line of the file with its offset, without its end.
    fn physical(&mut self) -> Option<(usize, &'t str)> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, end) = rest.split_at_checked(length)?;
        self.at = start
            + length
            + if end.starts_with("\r\n") || end.starts_with("\n\r") { 2 } else { end.len().min(1) };
        Some((start, line))
    }
}

impl Iterator for Lines<'_> {
    type Item = Logical;

    fn next(&mut self) -> Option<Logical> {
        let mut logical: Option<Logical> = None;
        while let Some((mut start, mut line)) = self.physical() {
            if line.trim_start_matches(BLANK).starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix(MARK).filter(|_| !self.mark_is_seen) {
                self.mark_is_seen = true;
                start += MARK.len_utf8();
                line = rest;
            }
            let joined = logical.get_or_insert_with(Logical::default);
            joined.push(line, start);
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if backslashes % 2 == 0 {
                return logical;
            }
            joined.text.pop();
            joined.text.push(' ');
        }
        logical
    }
}

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

    fn texts(text: &str) -> Vec<String> {
        Lines::new(text).map(|line| line.text).collect()
    }

    #[test]
    fn continuations_are_joined_and_comments_are_skipped() {
        assert_eq!(texts("a=1\\\n  b\\\n# c\n ; d\nc\ne"), ["a=1   b c", "e"]);
        assert_eq!(texts("a\\\n\nb"), ["a ", "b"], "an empty line ends it");
        assert_eq!(texts("a\\\\\nb\\\\\\\nc"), ["a\\\\", "b\\\\ c"]);
        assert_eq!(texts("a\\"), ["a "], "nothing follows");
        assert_eq!(texts("a\r\nb\rc\n\rd\n\n\re"), ["a", "b", "c", "d", "", "e"]);
        assert_eq!(texts("a\\\n\rb"), ["a b"], "LF CR is one end");
        assert_eq!(texts("\u{feff}a\n\u{feff}b"), ["a", "\u{feff}b"]);
        assert_eq!(texts("a\n\u{feff}b"), ["a", "b"]);
        assert!(texts("").is_empty() && texts("#").is_empty());
    }

    #[test]
    fn offsets_are_those_of_the_file() {
        let text = "\u{feff}ä\\\r\n# x\r\n  bc \\\nd";
        let line = Lines::new(text).next().unwrap();
        assert_eq!(line.text, "ä   bc  d");
        let whole = line.trimmed();
        let part = line.part(4, line.text.len());
        assert_eq!((part.text.as_str(), whole.text.as_str()), ("bc  d", "ä   bc  d"));
        for (letter, whole_at, part_at) in [('b', 5, Some(0)), ('c', 6, Some(1)), ('d', 9, Some(4))]
        {
            let expected = text.find(letter);
            assert_eq!(Some(line.offset(whole_at)), expected);
            assert_eq!(Some(whole.offset(whole_at)), expected);
            if let Some(at) = part_at {
                assert_eq!(Some(part.offset(at)), expected);
            }
        }
        assert_eq!(Logical::plain("x", 7).offset(0), 7);
        assert_eq!(
            line.part(9, 3),
            Logical { text: String::new(), pieces: vec![(0, line.offset(9))] }
        );
    }

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
