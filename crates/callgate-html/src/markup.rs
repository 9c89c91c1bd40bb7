//! Escaping writer of HTML and SVG.

use super::escape::escape_into;

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

#[cfg(test)]
mod tests {
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
}
