//! Links and headings of Markdown, as far as the pages of this tree use it.

use std::collections::BTreeSet;
use std::ops::Range;

/// A link, an image, or an attribute of HTML that names a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    /// The target as it is written.
    pub(super) target: &'a str,
    /// Where the target is in the text.
    pub(super) range: Range<usize>,
}

/// The links of a text, in their order. Code has none.
pub(super) fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    for block in blocks(text) {
        let mut at = block.start;
        while at < block.end {
            let rest = &text[at..block.end];
            let step = match rest.as_bytes()[0] {
                b'`' => code_span(rest),
                b'\\' => 2,
                b']' if rest.starts_with("](") => {
                    found.extend(destination(text, at + 2..block.end));
                    2
                }
                b']' if rest.starts_with("]: ") && is_definition(text, at) => {
                    found.extend(destination(text, at + 3..block.end));
                    3
                }
                b'h' | b's' if is_attribute(text, at) => {
                    let start = at + rest.find('"').map_or(0, |quote| quote + 1);
                    let end = text[start..block.end].find('"').map_or(start, |end| start + end);
                    found.push(Link { target: &text[start..end], range: start..end });
                    end - at
                }
                _ => 1,
            };
            at += step.max(1);
            while at < block.end && !text.is_char_boundary(at) {
                at += 1;
            }
        }
    }
    found
}

/// The anchors of a page: those of its headings, as GitHub and mdbook name them, and the identifiers of its HTML.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for block in blocks(text) {
        for line in text[block].lines() {
            for attribute in [" id=\"", " name=\""] {
                for rest in line.split(attribute).skip(1) {
                    anchors.extend(rest.split('"').next().map(str::to_owned));
                }
            }
            let title = line.trim_start_matches('#');
            let level = line.len() - title.len();
            let Some(title) = title.strip_prefix(' ').filter(|_| (1..=6).contains(&level)) else {
                continue;
            };
            let name = slug(title);
            let numbered = (1..).map(|number| format!("{name}-{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            anchors.extend(names.find(|name| !anchors.contains(name)));
        }
    }
    anchors
}

/// The anchor of a heading.
fn slug(title: &str) -> String {
    let (mut plain, mut rest) = (String::new(), title.trim());
    // Of a link, only the text.
    while let Some((before, after)) = rest.split_once("](") {
        plain += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain += rest;
    let kept = plain.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The parts of a text that are not blocks of code: a paragraph, a row of a table, a heading.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    // A fence ends at a line with at least as many of its letters.
    let mut fence: Option<(char, usize)> = None;
    let (mut is_new, mut is_code, mut content, mut start) = (true, false, 0, 0);
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        if let Some((letter, length)) = fence {
            let rest = inner.trim_start_matches(letter);
            if inner.len() - rest.len() >= length && rest.trim().is_empty() {
                fence = None;
            }
            is_new = true;
            continue;
        }
        if inner.is_empty() {
            is_new = true;
            continue;
        }
        let letter = inner.chars().next().unwrap_or_default();
        let length = inner.len() - inner.trim_start_matches(letter).len();
        if matches!(letter, '`' | '~') && length >= 3 {
            (fence, is_new, is_code) = (Some((letter, length)), true, false);
            continue;
        }
        // What continues an item of a list is indented as its text; code is indented by four more.
        if indent < content && (indent == 0 || is_new) {
            content = 0;
        }
        is_code = indent >= content + 4 && (is_new || is_code);
        if is_code {
            continue;
        }
        let marker = marker(inner);
        if marker > 0 {
            content = indent + marker;
        }
        let is_alone = inner.starts_with(['|', '#']) || marker > 0;
        match blocks.last_mut() {
            Some(block) if !is_new && !is_alone => block.end = range.end,
            _ => blocks.push(range),
        }
        is_new = false;
    }
    blocks
}

/// The length of the marker of a list item with the blanks behind it, or 0.
fn marker(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let is_marker = match digits {
        0 => rest.starts_with(['-', '*', '+']),
        _ => rest.starts_with(['.', ')']),
    };
    let Some(rest) = is_marker.then(|| &rest[1..]) else { return 0 };
    match rest.len() - rest.trim_start_matches(' ').len() {
        0 => 0,
        blanks => digits + 1 + blanks,
    }
}

/// The length of a span of code at the beginning of the text, or of its backticks if nothing closes it.
fn code_span(text: &str) -> usize {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let mut at = ticks;
    while let Some(found) = text[at..].find('`') {
        let rest = &text[at + found..];
        let length = rest.len() - rest.trim_start_matches('`').len();
        at += found + length;
        if length == ticks {
            return at;
        }
    }
    ticks
}

/// The destination of a link, without its title.
fn destination(text: &str, range: Range<usize>) -> Option<Link<'_>> {
    let mut depth = 0;
    let length = text[range.clone()].find(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter.is_whitespace() || depth < 0
    });
    let range = range.start..range.start + length.unwrap_or(range.len());
    (!range.is_empty()).then(|| Link { target: &text[range.clone()], range })
}

/// Whether `]: ` here ends the label of a definition, `[label]: target`.
fn is_definition(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].starts_with('[')
}

/// Whether an attribute of HTML with the name of a file begins here.
fn is_attribute(text: &str, at: usize) -> bool {
    let is_start = text[..at].ends_with([' ', '\n']);
    is_start && ["href=\"", "src=\""].iter().any(|name| text[at..].starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn links_images_definitions_and_attributes_are_found() {
        assert_eq!(targets("[a](b.md) and [c\nd](e.md#f)"), ["b.md", "e.md#f"]);
        assert_eq!(targets("![a](b.png \"title\") [![x](y.svg)](z)"), ["b.png", "y.svg", "z"]);
        assert_eq!(targets("[a](b(c).md)"), ["b(c).md"]);
        assert_eq!(targets("text\n\n[label]: x.md\n"), ["x.md"]);
        assert_eq!(targets("<a href=\"x.md\"><img alt=\"\" src=\"y.png\"></a>"), ["x.md", "y.png"]);
        assert_eq!(targets("| [a](b) | `c` |\n| ` | [d](e) |"), ["b", "e"]);
        assert_eq!(targets("é [ü](ä.md)"), ["ä.md"]);
    }

    #[test]
    fn the_range_of_a_link_is_that_of_its_target() {
        let text = "`a` [b](c.md#d)";
        let found = links(text);
        assert_eq!(&text[found[0].range.clone()], "c.md#d");
    }

    #[test]
    fn code_has_no_links() {
        for code in [
            "`[a](b)`",
            "``a ` [b](c)``",
            "`[a\nb](c)`",
            "```md\n[a](b)\n```",
            "~~~\n[a](b)\n```\n[a](b)\n~~~",
            "````\n```\n[a](b)\n```\n````",
            "text\n\n    [a](b)\n\n    [c](d)\n",
            "- item\n\n      [a](b)\n",
            "1. item\n\n       [a](b)\n",
            "\\[a\\](b)",
        ] {
            assert_eq!(targets(code), [""; 0], "{code}");
        }
        assert_eq!(targets("```\n[a](b)\n```\n[c](d)"), ["d"]);
        // A backtick that nothing closes, and text that continues an item of a list.
        assert_eq!(targets("` [a](b)"), ["b"]);
        assert_eq!(targets("1. item\n\n   more [a](b)\n"), ["b"]);
        assert_eq!(targets("- item that is long\n    [a](b)\n"), ["b"]);
    }

    #[test]
    fn headings_have_anchors() {
        let text = "# A title: with `code`\n## [Link](x.md), _and_ -more-\n## Twice\n## Twice\n\n    # code\n\n#no\n<a id=\"own\">";
        let expected = ["a-title-with-code", "link-_and_--more-", "own", "twice", "twice-1"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), expected);
    }
}
