//! Splits a line into words.

/// How many words of a line are kept: more than any table has columns.
pub(super) const MAX_WORDS: usize = 64;

/// A word of a line and its byte offset in the line.
#[derive(Clone, Copy)]
pub(super) struct Field<'t> {
    pub(super) at: usize,
    pub(super) text: &'t str,
}

/// The words of a line.
pub(super) struct Words<'t> {
    /// The first words, up to the limit of the caller.
    pub(super) kept: Vec<Field<'t>>,
    /// How many words the line has.
    pub(super) count: usize,
}

/// The allocation of [`Words`], which is reused for each line.
#[derive(Default)]
pub(super) struct WordBuffer(Vec<Field<'static>>);

impl WordBuffer {
    /// Splits a line into words, and keeps at most `most` of them.
    pub(super) fn words<'t>(&mut self, line: &'t str, most: usize) -> Words<'t> {
        let mut words = Words { kept: std::mem::take(&mut self.0), count: 0 };
        if line.is_ascii() {
            words.split_ascii(line, most);
        } else {
            words.split(line, most);
        }
        words
    }

    /// Takes the allocation back.
    pub(super) fn reuse(&mut self, words: Words<'_>) {
        let mut kept = words.kept;
        kept.clear();
        // Collecting a vector from a vector of the same element size keeps its allocation.
        self.0 = kept.into_iter().map(|field| Field { at: field.at, text: "" }).collect();
    }
}

impl<'t> Words<'t> {
    fn split(&mut self, line: &'t str, most: usize) {
        let mut at = 0;
        for piece in line.split_inclusive(is_blank) {
            self.push(at, piece.trim_end_matches(is_blank), most);
            at += piece.len();
        }
    }

    /// Like `split`, without decoding characters.
    fn split_ascii(&mut self, line: &'t str, most: usize) {
        let bytes = line.as_bytes();
        let mut end = 0;
        loop {
            let start = end + blanks(bytes.get(end..).unwrap_or_default());
            let word = bytes.get(start..).unwrap_or_default();
            if word.is_empty() {
                return;
            }
            end = start + word.iter().position(is_ascii_blank).unwrap_or(word.len());
            self.push(start, line.get(start..end).unwrap_or_default(), most);
        }
    }

    fn push(&mut self, at: usize, word: &'t str, most: usize) {
        if word.is_empty() {
            return;
        }
        self.count += 1;
        if self.count <= most {
            self.kept.push(Field { at, text: word });
        }
    }

    /// The words after the first one.
    pub(super) fn without_first(&self) -> Words<'t> {
        let kept = self.kept.iter().skip(1).copied().collect();
        Words { kept, count: self.count.saturating_sub(1) }
    }

    pub(super) fn first(&self) -> Option<Field<'t>> {
        self.kept.first().copied()
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

fn is_ascii_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The number of blanks at the start of an ASCII text. Tables have many in a row.
fn blanks(text: &[u8]) -> usize {
    let eights = text.chunks_exact(8).take_while(|eight| *eight == [b' '; 8]).count() * 8;
    let rest = text.get(eights..).unwrap_or_default();
    eights + rest.iter().position(|byte| !is_ascii_blank(byte)).unwrap_or(rest.len())
}

/// Whether a line is known to have at least three words, judged by its start, which is ASCII.
pub(super) fn has_three_words(line: &[u8]) -> bool {
    let (mut words, mut in_word) = (0, false);
    for byte in line.iter().take_while(|byte| byte.is_ascii()) {
        let is_blank = is_ascii_blank(byte);
        words += usize::from(!is_blank && !in_word);
        in_word = !is_blank;
        if words == 3 {
            return true;
        }
    }
    false
}

/// The word and the number of a line that consists of these two, in either order. `None` for other lines, and for some
/// rare spellings of such lines, which the general parser reads.
pub(super) fn word_and_number(line: &[u8]) -> Option<(&[u8], u64)> {
    let (first, rest) = word(line)?;
    let (second, rest) = word(rest)?;
    if !rest.iter().all(is_simple_blank) {
        return None;
    }
    let number_last = number(second).map(|number| (first, number));
    number_last.or_else(|| Some((second, number(first)?)))
}

/// The next word, and the text after it.
fn word(mut text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|byte| !is_simple_blank(byte)).unwrap_or(text.len());
    text = text.get(start..)?;
    let end = text.iter().position(|byte| *byte <= b' ').unwrap_or(text.len());
    // Other control characters end the word, and are not blanks; `word_and_number` then returns `None`.
    text.split_at_checked(end).filter(|(word, _)| !word.is_empty())
}

/// The value of a word that consists of at most 15 digits, so that it is exact as an `f64`.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    const DIGITS: usize = 15;
    if !matches!(word.len(), 1..=DIGITS) {
        return None;
    }
    let mut number = 0;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit >= 10 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

fn is_simple_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_those_between_white_space(
            line in "([!-~\\x00-\\x08\\x1cé\u{a0}]{0,3}[ \\t-\\r]{0,20}){0,6}",
        ) {
            let mut buffer = WordBuffer::default();
            let words = buffer.words(&line, MAX_WORDS);
            let kept: Vec<&str> = words.kept.iter().map(|word| word.text).collect();
            prop_assert_eq!(&kept, &line.split_whitespace().collect::<Vec<_>>());
            prop_assert!(words.kept.iter().all(|word| line[word.at..].starts_with(word.text)));
            let has_three = has_three_words(line.as_bytes());
            prop_assert!(has_three == (words.count >= 3) || !line.is_ascii() && !has_three);
        }
    }

    #[test]
    fn both_ways_to_split_give_the_same_words() {
        for line in ["", "\n", "a", " a\tb\r\n", "a  bc d", "\u{b}a\u{c}b\u{1c}c\n"] {
            let mut buffer = WordBuffer::default();
            let of = |words: &Words<'_>| {
                let kept: Vec<_> =
                    words.kept.iter().map(|word| (word.at, word.text.to_owned())).collect();
                (kept, words.count)
            };
            for most in 0..3 {
                let ascii = buffer.words(line, most);
                let mut all = Words { kept: Vec::new(), count: 0 };
                all.split(line, most);
                assert_eq!(of(&ascii), of(&all), "{line:?}");
                buffer.reuse(ascii);
            }
        }
    }

    #[test]
    fn the_allocation_is_reused() {
        let mut buffer = WordBuffer::default();
        let words = buffer.words("a b c d e f", MAX_WORDS);
        let at = words.kept.as_ptr().addr();
        buffer.reuse(words);
        let words = buffer.words("g h", MAX_WORDS);
        assert_eq!(words.kept.as_ptr().addr(), at);
    }

    #[test]
    fn a_word_and_a_number_in_either_order() {
        for (line, pair) in [
            ("read 5\n", Some(("read", 5))),
            (" 12\tread\r\n", Some(("read", 12))),
            ("read 999999999999999", Some(("read", 999_999_999_999_999))),
            ("read 1000000000000000", None),
            ("read 5.0", None),
            ("read +5", None),
            ("read 5 6", None),
            ("5 6", Some(("5", 6))),
            ("read 5\u{b}", None),
            ("\u{b}read 5", None),
            ("read write", None),
            ("read", None),
            ("5", None),
            (" \n", None),
            ("", None),
            ("é 5", Some(("é", 5))),
        ] {
            let read = word_and_number(line.as_bytes());
            let pair = pair.map(|(word, number): (&str, _)| (word.as_bytes(), number));
            assert_eq!(read, pair, "{line:?}");
        }
    }
}
