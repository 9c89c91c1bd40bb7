//! Phrases of documents that quote figures.
//!
//! A phrase is text with placeholders for figures of its run. Documents are compared word by word, so a phrase may be in several
//! lines. Where the words of a phrase are in a document with another number, the document is wrong, whether the registry
//! lists it or not.

use callgate_tasks::Result;

use super::registry::{FILE, Figure, Run};

/// The least number of letters of a phrase, so that it is about one thing only.
const MIN_LETTERS: usize = 12;

/// A phrase that quotes figures.
pub(super) struct Phrase {
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    /// A number as the document must have it.
    Number(String),
}

/// A document as words.
pub(super) struct Document {
    /// Its path, relative to the root.
    pub(super) name: String,
    /// Its words with a space between them.
    words: String,
    /// Where each word begins, and its line.
    lines: Vec<(usize, usize)>,
}

/// Where the words of a phrase are.
pub(super) struct Occurrence {
    pub(super) line: usize,
    /// The numbers there, as text.
    pub(super) given: Vec<String>,
    /// Those of the registry.
    pub(super) expected: Vec<String>,
}

impl Document {
    pub(super) fn new(name: String, text: &str) -> Document {
        let (mut words, mut lines) = (String::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            for word in line.split_whitespace() {
                if !words.is_empty() {
                    words.push(' ');
                }
                lines.push((words.len(), number + 1));
                words.push_str(word);
            }
        }
        Document { name, words, lines }
    }

    fn line(&self, at: usize) -> usize {
        let before = self.lines.partition_point(|(start, _)| *start <= at);
        before.checked_sub(1).and_then(|index| self.lines.get(index)).map_or(1, |(_, line)| *line)
    }
}

impl Phrase {
    /// Reads a phrase of a run.
    pub(super) fn parse(run: &Run, text: &str) -> Result<Phrase> {
        let wrong = |what: String| Err(format!("{FILE}: {}: {text:?}: {what}", run.name));
        let mut pieces = Vec::new();
        let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = normal.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((placeholder, next)) = after.split_once('}') else {
                return wrong("a placeholder has no }".to_owned());
            };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            match number(&run.figures, placeholder) {
                Ok(number) => pieces.push(Piece::Number(number)),
                Err(why) => return wrong(why),
            }
            rest = next;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        let letters: usize = pieces.iter().map(Piece::letters).sum();
        if !pieces.iter().any(|piece| matches!(piece, Piece::Number(_))) {
            return wrong("the phrase quotes no figure; write {NAME}".to_owned());
        }
        if letters < MIN_LETTERS {
            return wrong(format!(
                "the phrase has {letters} letters and may be about something else; give at least {MIN_LETTERS}"
            ));
        }
        Ok(Phrase { pieces })
    }

    /// Where the words of the phrase are in a document, with any numbers.
    pub(super) fn occurrences(&self, document: &Document) -> Vec<Occurrence> {
        let mut found = Vec::new();
        for (at, _) in document.words.char_indices() {
            let Some(given) = self.at(&document.words, at) else { continue };
            let expected = self.pieces.iter().filter_map(|piece| match piece {
                Piece::Number(number) => Some(number.clone()),
                Piece::Text(_) => None,
            });
            found.push(Occurrence { line: document.line(at), given, expected: expected.collect() });
        }
        found
    }

    /// The numbers of the phrase if it begins here.
    fn at(&self, words: &str, at: usize) -> Option<Vec<String>> {
        let mut given = Vec::new();
        let mut rest = words.get(at..)?;
        if matches!(self.pieces.first(), Some(Piece::Number(_))) {
            let before = words.get(..at)?.chars().next_back();
            if before.is_some_and(|c| c.is_ascii_digit() || c == '.' || c == ',') {
                return None;
            }
        }
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Piece::Number(_) => {
                    let number = leading_number(rest)?;
                    given.push(number.to_owned());
                    rest = rest.get(number.len()..)?;
                }
            }
        }
        // The last number must not be the beginning of a longer one.
        let is_whole = !rest.starts_with(|c: char| c.is_ascii_digit());
        is_whole.then_some(given)
    }

    /// The phrase as it must be.
    pub(super) fn text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Number(text) => text.as_str(),
            })
            .collect()
    }
}

impl Piece {
    fn letters(&self) -> usize {
        match self {
            Piece::Text(text) => text.chars().filter(|c| c.is_alphanumeric()).count(),
            Piece::Number(_) => 0,
        }
    }
}

/// The number that a text begins with: digits, with points or commas between them.
fn leading_number(text: &str) -> Option<&str> {
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let number = text.get(..end)?.trim_end_matches(['.', ',']);
    (number.starts_with(|c: char| c.is_ascii_digit())).then_some(number)
}

/// The number that a placeholder stands for: `NAME`, `NAME:DECIMALS`, `NAME/DIVISOR:DECIMALS`.
fn number(figures: &[Figure], placeholder: &str) -> Result<String> {
    let (value, decimals) = match placeholder.split_once(':') {
        Some((value, decimals)) => (value, Some(decimals)),
        None => (placeholder, None),
    };
    let (name, divisor) = match value.split_once('/') {
        Some((name, divisor)) => (name, Some(divisor)),
        None => (value, None),
    };
    let Some(figure) = figures.iter().find(|figure| figure.name == name) else {
        return Err(format!("the run has no figure with the name {name:?}"));
    };
    let Some(decimals) = decimals else {
        return match divisor {
            None => Ok(figure.value.clone()),
            Some(_) => Err(format!(
                "{placeholder:?} has a divisor, but no decimals; write NAME/DIVISOR:DECIMALS"
            )),
        };
    };
    let decimals: usize =
        decimals.parse().map_err(|_| format!("{decimals:?} is not a number of decimals"))?;
    let divisor: f64 = match divisor {
        None => 1.0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|divisor| *divisor > 0.0)
            .ok_or(format!("{text:?} is not a divisor"))?,
    };
    let number = figure.number().ok_or("not a number")?;
    Ok(format!("{:.decimals$}", number / divisor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn run() -> Run {
        let figure = |name: &str, value: &str| Figure {
            name: name.to_owned(),
            value: value.to_owned(),
            unit: String::new(),
            what: String::new(),
        };
        Run {
            name: "r".to_owned(),
            command: String::new(),
            machine: String::new(),
            date: String::new(),
            spread: String::new(),
            measures: Vec::new(),
            code: String::new(),
            figures: vec![figure("one", "1,512,885"), figure("two", "158.58")],
            quotes: BTreeMap::new(),
        }
    }

    fn found(phrase: &str, text: &str) -> Vec<(usize, Vec<String>, bool)> {
        let phrase = Phrase::parse(&run(), phrase).unwrap();
        let document = Document::new("a.md".to_owned(), text);
        let all = phrase.occurrences(&document).into_iter();
        all.map(|one| (one.line, one.given.clone(), one.given == one.expected)).collect()
    }

    #[test]
    fn phrases_are_found_in_any_lines_with_any_numbers() {
        let phrase = "take {one/1000000:1} million instructions, not {two:1}";
        assert_eq!(
            Phrase::parse(&run(), phrase).unwrap().text(),
            "take 1.5 million instructions, not 158.6"
        );
        let at = |text| found(phrase, text);
        let numbers = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(
            at("Rules\ntake 1.5 million\n  instructions, not\n158.6."),
            [(2, numbers("1.5", "158.6"), true)]
        );
        assert_eq!(
            at("take 1.6 million instructions, not 158.6"),
            [(1, numbers("1.6", "158.6"), false)]
        );
        assert_eq!(at("take some million instructions, not 158.6"), []);
        assert_eq!(
            found("{one} instructions of Docker", "1,512,885 instructions of Docker").len(),
            1
        );
        // A number is found once, not again at each of its digits.
        assert_eq!(
            found("{one} instructions of Docker", "9,512,885 instructions of Docker"),
            [(1, vec!["9,512,885".to_owned()], false)]
        );
        assert_eq!(
            found("instructions of Docker: {two}", "instructions of Docker: 158.581"),
            [(1, vec!["158.581".to_owned()], false)]
        );
    }

    #[test]
    fn mistakes_of_phrases_are_errors() {
        for (phrase, message) in [
            ("instructions of {three} programs", "no figure with the name \"three\""),
            ("instructions of programs", "quotes no figure"),
            ("{one} µs", "2 letters"),
            ("instructions of {one programs", "no }"),
            ("instructions of {one/1000} programs", "no decimals"),
            ("instructions of {one/0:1} programs", "\"0\" is not a divisor"),
            ("instructions of {one:x} programs", "\"x\" is not a number of decimals"),
        ] {
            let error = Phrase::parse(&run(), phrase).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
