//! Escaping writer of HTML and SVG.

use std::fmt::Write;

use callgate_bpf::printable::is_printable;

/// HTML or SVG. Names of elements and attributes are constants; everything else is escaped, and elements are closed by the
/// method that opens them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

/// Attributes: names and values.
type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// An empty fragment.
    pub fn new() -> Markup {
        Markup::default()
    }

    /// What a function writes.
    pub fn of(content: impl FnOnce(&mut Markup)) -> Markup {
        let mut markup = Markup::new();
        content(&mut markup);
        markup
    }

    /// Text.
    pub fn text(&mut self, text: &str) {
        escape_into(&mut self.0, text);
    }

    /// An element with content. It must not be one that HTML has no end tag for, such as `br`.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Markup),
    ) {
        self.start(name, attributes);
        self.0.push('>');
        content(self);
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
        if is_block(name) {
            self.0.push('\n');
        }
    }

    /// An element with text.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |markup| markup.text(text));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.leaf("p", &[], text);
    }

    /// A paragraph that explains others.
    pub fn quiet(&mut self, text: &str) {
        self.leaf("p", &[("class", "quiet")], text);
    }

    /// The most important paragraph of a section.
    pub fn headline(&mut self, text: &str) {
        self.leaf("p", &[("class", "headline")], text);
    }

    /// Words with a class of the style sheet.
    pub fn span(&mut self, class: &str, text: &str) {
        self.leaf("span", &[("class", class)], text);
    }

    /// A table with these titles of its columns, which is scrolled if it is wider than the window. The class is that of the
    /// table, or empty.
    pub fn table(&mut self, class: &str, titles: &[&str], rows: impl FnOnce(&mut Markup)) {
        let class = [("class", class)];
        let attributes: Attributes<'_> = if class[0].1.is_empty() { &[] } else { &class };
        self.element("div", &[("class", "wide")], |wide| {
            wide.element("table", attributes, |table| {
                table.element("tr", &[], |tr| {
                    titles.iter().for_each(|title| tr.leaf("th", &[("scope", "col")], title));
                });
                rows(table);
            });
        });
    }

    /// A part that is opened, with its summary.
    pub fn details(&mut self, is_open: bool, summary: &str, content: impl FnOnce(&mut Markup)) {
        let attributes: Attributes<'_> = if is_open { &[("open", "open")] } else { &[] };
        self.element("details", attributes, |details| {
            details.leaf("summary", &[], summary);
            content(details);
        });
    }

    /// A part that is scrolled if it is larger than its place, also by keys.
    pub fn region(&mut self, class: &str, label: &str, content: impl FnOnce(&mut Markup)) {
        let attributes =
            [("class", class), ("tabindex", "0"), ("role", "region"), ("aria-label", label)];
        self.element("div", &attributes, content);
    }

    /// Text of this program with code between backticks, as messages have it. A backtick without its pair stays one.
    pub fn prose(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, tail)) = rest.split_once('`') {
            let Some((code, after)) = tail.split_once('`') else { break };
            self.text(before);
            self.leaf("code", &[], code);
            rest = after;
        }
        self.text(rest);
    }

    /// An element that never has content: one of SVG, or one that HTML has no end tag for.
    pub fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.0.push_str("/>");
    }

    /// Appends a fragment.
    pub fn append(&mut self, other: &Markup) {
        self.0.push_str(&other.0);
    }

    /// Text of this program: the style sheet, the document type.
    pub(crate) fn constant(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    fn start(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(name);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape_into(&mut self.0, value);
            self.0.push('"');
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Whether an element ends a line of the source, so that pages can be read and compared as text.
fn is_block(name: &str) -> bool {
    [
        "p", "tr", "table", "li", "ul", "section", "details", "summary", "div", "svg", "g", "h1",
        "h2", "h3", "h4", "dd",
    ]
    .contains(&name)
}

/// Adds text to a text, escaped for the content of elements and for attributes in double quotes, of HTML and XML.
///
/// Characters that are not printable become escapes such as `\u{1b}`, also control characters, which terminals execute when a
/// page is printed there, characters that XML does not allow, and line breaks, so text cannot imitate the structure around it.
pub(crate) fn escape_into(escaped: &mut String, text: &str) {
    // Most text needs no escape, and is copied as a whole.
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| !is_plain(c)) {
        let (plain, tail) = rest.split_at(at);
        escaped.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('&') => escaped.push_str("&amp;"),
            Some('<') => escaped.push_str("&lt;"),
            Some('>') => escaped.push_str("&gt;"),
            Some('"') => escaped.push_str("&quot;"),
            Some('\'') => escaped.push_str("&#39;"),
            Some(c) if is_printable(c) => escaped.push(c),
            Some(c) => {
                let _ = write!(escaped, "{}", c.escape_default());
            }
            None => {}
        }
        rest = chars.as_str();
    }
    escaped.push_str(rest);
}

/// Whether a character is printable ASCII without a meaning in HTML.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '&' | '<' | '>' | '"' | '\'')
}

#[cfg(test)]
mod tests {
    use callgate_bpf::printable::HIDDEN;

    use super::*;

    #[test]
    fn text_and_attributes_are_escaped_and_elements_closed() {
        let markup = Markup::of(|markup| {
            markup.element("p", &[("title", "\"><script>")], |markup| {
                markup.leaf("b", &[], "<i>");
                markup.empty("br", &[]);
            });
        });
        assert_eq!(
            markup.as_str(),
            "<p title=\"&quot;&gt;&lt;script&gt;\"><b>&lt;i&gt;</b><br/></p>\n"
        );
    }

    #[test]
    fn text_between_backticks_is_code() {
        let prose = |text: &str| Markup::of(|markup| markup.prose(text)).into_string();
        assert_eq!(prose("deny `a` and `b<`."), "deny <code>a</code> and <code>b&lt;</code>.");
        assert_eq!(prose("`a` and `b"), "<code>a</code> and `b");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn hidden_characters_are_escaped() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let mut found = String::new();
            escape_into(&mut found, &c.to_string());
            assert_eq!(found, c.escape_default().to_string());
        }
        let mut found = String::new();
        escape_into(&mut found, "عربي 中文 עברית");
        assert_eq!(found, "عربي 中文 עברית");
    }

    #[test]
    fn text_cannot_leave_its_place() {
        for (text, escaped) in [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("\u{1b}[2J\u{7f}\u{9b}", r"\u{1b}[2J\u{7f}\u{9b}"),
            ("a\nb\tc\0", r"a\nb\tc\u{0}"),
            (
                "\u{202e}\u{2066}\u{feff}\u{200b}\u{fffe}",
                r"\u{202e}\u{2066}\u{feff}\u{200b}\u{fffe}",
            ),
            ("é日本e\u{301}😀", "é日本e\u{301}😀"),
        ] {
            let mut found = String::new();
            escape_into(&mut found, text);
            assert_eq!(found, escaped);
        }
    }
}
