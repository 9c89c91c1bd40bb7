//! Characters that make a text look like another one, and the escapes for them.
//!
//! Terminals, editors and web pages show some characters as nothing or as a blank. Others move the cursor, or change the order
//! in which the text around them is shown. Such a character makes a name look like another name. So everything that prints
//! text of an input escapes it, and `--strict` refuses it in sources. The escapes are for people, not for parsers: a text with
//! a backslash can look like one.
//!
//! [`HIDDEN`] is the only list. The web page has a copy in JavaScript; a test of `callgate-html` compares the two.

use std::fmt;

/// Why a character is not shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hidden {
    /// Control characters (general category Cc) other than line ends: they move the cursor or start commands of terminals.
    Control,
    /// Line and page ends, of which editors know different ones.
    LineEnd,
    /// U+000D. It belongs to a line end only before U+000A.
    CarriageReturn,
    /// Blanks beyond ASCII (general category Zs), and letters and symbols without ink.
    Blank,
    /// Shown as nothing.
    Invisible,
    /// Other format characters (general category Cf), which change how those around them are shown.
    Format,
    /// Changes the order in which text is shown (`Bidi_Control`).
    Bidirectional,
    /// Selects a form of the character before it; most have only one.
    VariationSelector,
    /// Invisible copies of ASCII characters, for subdivisions in flags.
    Tag,
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hidden::Control => "a control character",
            Hidden::LineEnd => "a line end",
            Hidden::CarriageReturn => "a carriage return within a line",
            Hidden::Blank => "a blank",
            Hidden::Invisible => "invisible",
            Hidden::Format => "a format character",
            Hidden::Bidirectional => "a bidirectional control",
            Hidden::VariationSelector => "a variation selector",
            Hidden::Tag => "a tag",
        })
    }
}

/// Intervals of characters, in order, with the first and the last one: the general categories Cc, Cf, Zl, Zp and, without
/// U+0020, Zs of `UnicodeData.txt`; `Default_Ignorable_Code_Point` of `DerivedCoreProperties.txt`; `Bidi_Control` and
/// `Variation_Selector` of `PropList.txt`; all of Unicode 17.0. To these are added characters whose glyphs are blank by their
/// names in `UnicodeData.txt`: U+2800, U+13441 to U+13446, U+16FE4 and U+1D159; and U+13440, which mirrors a sign.
pub const HIDDEN: &[(char, char, Hidden)] = &[
    ('\u{0}', '\u{9}', Hidden::Control),
    ('\u{a}', '\u{c}', Hidden::LineEnd),
    ('\u{d}', '\u{d}', Hidden::CarriageReturn),
    ('\u{e}', '\u{1f}', Hidden::Control),
    ('\u{7f}', '\u{84}', Hidden::Control),
    ('\u{85}', '\u{85}', Hidden::LineEnd),
    ('\u{86}', '\u{9f}', Hidden::Control),
    ('\u{a0}', '\u{a0}', Hidden::Blank),
    ('\u{ad}', '\u{ad}', Hidden::Invisible),
    ('\u{34f}', '\u{34f}', Hidden::Invisible),
    ('\u{600}', '\u{605}', Hidden::Format),
    ('\u{61c}', '\u{61c}', Hidden::Bidirectional),
    ('\u{6dd}', '\u{6dd}', Hidden::Format),
    ('\u{70f}', '\u{70f}', Hidden::Format),
    ('\u{890}', '\u{891}', Hidden::Format),
    ('\u{8e2}', '\u{8e2}', Hidden::Format),
    ('\u{115f}', '\u{1160}', Hidden::Invisible),
    ('\u{1680}', '\u{1680}', Hidden::Blank),
    ('\u{17b4}', '\u{17b5}', Hidden::Invisible),
    ('\u{180b}', '\u{180d}', Hidden::VariationSelector),
    ('\u{180e}', '\u{180e}', Hidden::Invisible),
    ('\u{180f}', '\u{180f}', Hidden::VariationSelector),
    ('\u{2000}', '\u{200a}', Hidden::Blank),
    ('\u{200b}', '\u{200d}', Hidden::Invisible),
    ('\u{200e}', '\u{200f}', Hidden::Bidirectional),
    ('\u{2028}', '\u{2029}', Hidden::LineEnd),
    ('\u{202a}', '\u{202e}', Hidden::Bidirectional),
    ('\u{202f}', '\u{202f}', Hidden::Blank),
    ('\u{205f}', '\u{205f}', Hidden::Blank),
    ('\u{2060}', '\u{2065}', Hidden::Invisible),
    ('\u{2066}', '\u{2069}', Hidden::Bidirectional),
    ('\u{206a}', '\u{206f}', Hidden::Invisible),
    ('\u{2800}', '\u{2800}', Hidden::Blank),
    ('\u{3000}', '\u{3000}', Hidden::Blank),
    ('\u{3164}', '\u{3164}', Hidden::Invisible),
    ('\u{fe00}', '\u{fe0f}', Hidden::VariationSelector),
    ('\u{feff}', '\u{feff}', Hidden::Invisible),
    ('\u{ffa0}', '\u{ffa0}', Hidden::Invisible),
    ('\u{fff0}', '\u{fff8}', Hidden::Invisible),
    ('\u{fff9}', '\u{fffb}', Hidden::Format),
    ('\u{110bd}', '\u{110bd}', Hidden::Format),
    ('\u{110cd}', '\u{110cd}', Hidden::Format),
    ('\u{13430}', '\u{13440}', Hidden::Format),
    ('\u{13441}', '\u{13446}', Hidden::Blank),
    ('\u{16fe4}', '\u{16fe4}', Hidden::Invisible),
    ('\u{1bca0}', '\u{1bca3}', Hidden::Format),
    ('\u{1d159}', '\u{1d159}', Hidden::Invisible),
    ('\u{1d173}', '\u{1d17a}', Hidden::Format),
    ('\u{e0000}', '\u{e007f}', Hidden::Tag),
    ('\u{e0080}', '\u{e00ff}', Hidden::Invisible),
    ('\u{e0100}', '\u{e01ef}', Hidden::VariationSelector),
    ('\u{e01f0}', '\u{e0fff}', Hidden::Invisible),
];

/// Why a character is hidden: see [`HIDDEN`].
pub fn hidden(c: char) -> Option<Hidden> {
    if matches!(c, ' '..='~') {
        return None;
    }
    let next = HIDDEN.partition_point(|(_, last, _)| *last < c);
    let (first, _, why) = HIDDEN.get(next)?;
    (*first <= c).then_some(*why)
}

/// Whether a character is shown as what it is: it is not [`hidden`], and the standard library knows it as a letter, mark,
/// digit, punctuation or symbol. Characters for private use, and those that are not assigned, look different everywhere.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // `escape_debug` escapes a combining mark, unless it follows another character.
    let is_known =
        || c.escape_debug().len() == 1 || String::from_iter(['a', c]).escape_debug().count() == 2;
    hidden(c).is_none() && is_known()
}

/// Text of an input in a message or a comment: in one line, with escapes for characters that are not [printable](is_printable).
///
/// ```
/// use callgate_bpf::printable::visible;
/// assert_eq!(visible("a\u{202e}b\nc\u{3164}"), r"a\u{202e}b\nc\u{3164}");
/// ```
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_printable(c) {
            true => shown.push(c),
            false => shown.extend(c.escape_default()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intervals_are_in_order() {
        assert!(HIDDEN.iter().all(|(first, last, _)| first <= last));
        assert!(HIDDEN.is_sorted_by(|(_, last, _), (first, ..)| last < first));
    }

    /// By the tables of the standard library. The test of the web page compares the list with more properties.
    #[test]
    fn controls_and_blanks_are_hidden() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_control() || c.is_whitespace()) {
            assert_eq!(hidden(c).is_some(), c != ' ', "{c:?}");
        }
    }

    #[test]
    fn hidden_characters_are_escaped() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            assert!(hidden(c).is_some() && !is_printable(c), "{c:?}");
            let escaped = visible(&format!("a{c}b"));
            assert_eq!(escaped, format!("a{}b", c.escape_default()));
            assert!(escaped.chars().all(|c| matches!(c, ' '..='~')), "{c:?}");
        }
        for c in ['\u{e000}', '\u{fffe}', '\u{e1000}', '\u{10ffff}'] {
            assert_eq!((hidden(c), is_printable(c)), (None, false), "{c:?}");
        }
    }

    #[test]
    fn text_of_all_scripts_is_shown() {
        for text in [
            "a \"b\" \\ 'c' ~",
            "r\u{e9}sum\u{e9} e\u{301}",
            "Ж ß Ελλάδα",
            "العربية مُحَمَّد",
            "עִבְרִית",
            "中文 日本語 ｶﾞ 한국어 \u{1112}\u{1161}\u{11ab}",
            "हिन्दी ไทย ខ្មែរ မြန်မာ ᠮᠣᠩᠭᠣᠯ",
            "😀 ↑ € ▁ \u{fffd} \u{1f1e9}\u{1f1ea} \u{1f44d}\u{1f3fd}",
        ] {
            assert_eq!(visible(text), text);
            assert!(text.chars().all(|c| is_printable(c) && hidden(c).is_none()), "{text}");
        }
    }
}
