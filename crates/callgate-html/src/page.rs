//! The page around sections.

use super::markup::Markup;

/// The style sheet of pages and sections: light, dark, narrow and printed.
pub const STYLE: &str = include_str!("style.css");

/// A part of a page.
#[derive(Clone, Debug)]
pub struct Section {
    /// A word that is unique on the page, for links to the section.
    pub id: String,
    /// The heading.
    pub title: String,
    /// The content, without the heading.
    pub body: Markup,
}

impl Section {
    /// A section with the markup that a function writes.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        body: impl FnOnce(&mut Markup),
    ) -> Section {
        Section { id: id.into(), title: title.into(), body: Markup::of(body) }
    }

    /// The section with its heading.
    pub fn markup(&self) -> Markup {
        let heading = format!("{}-heading", self.id);
        Markup::of(|markup| {
            markup.element(
                "section",
                &[("id", &self.id), ("aria-labelledby", &heading)],
                |markup| {
                    markup.leaf("h2", &[("id", &heading)], &self.title);
                    markup.append(&self.body);
                },
            );
        })
    }
}

/// A message about a source of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The source with the position, or empty.
    pub place: String,
    /// The message.
    pub message: String,
    /// What to do, or empty.
    pub help: String,
}

/// A document.
#[derive(Clone, Debug)]
pub struct Page {
    /// The title and first heading.
    pub title: String,
    /// Facts about the page: label and text.
    pub facts: Vec<(&'static str, String)>,
    /// Why figures or statements of the page may be wrong or incomplete.
    pub warnings: Vec<Warning>,
    /// The sections.
    pub sections: Vec<Section>,
}

/// The maximum number of warnings of a page.
const MAX_WARNINGS: usize = 100;

impl Page {
    /// The whole document: HTML that is well-formed XML after the document type.
    pub fn html(&self) -> String {
        let mut page = Markup::new();
        page.constant("<!DOCTYPE html>\n");
        page.element(
            "html",
            &[("lang", "en"), ("xmlns", "http://www.w3.org/1999/xhtml")],
            |page| {
                page.element("head", &[], |head| self.head(head));
                page.element("body", &[], |body| {
                    body.element("header", &[], |header| self.header(header));
                    if self.sections.len() > 1 {
                        body.element("nav", &[("aria-label", "Sections")], |nav| {
                            self.contents(nav)
                        });
                    }
                    body.element("main", &[], |main| {
                        self.sections.iter().for_each(|section| main.append(&section.markup()));
                    });
                });
            },
        );
        page.into_string() + "\n"
    }

    fn head(&self, head: &mut Markup) {
        head.empty("meta", &[("charset", "utf-8")]);
        let viewport = "width=device-width, initial-scale=1";
        head.empty("meta", &[("name", "viewport"), ("content", viewport)]);
        head.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
        // The page needs nothing from elsewhere, and says so to browsers.
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        head.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", policy)]);
        head.leaf("title", &[], &self.title);
        head.element("style", &[], |style| style.constant(STYLE));
    }

    fn header(&self, header: &mut Markup) {
        header.leaf("h1", &[], &self.title);
        let shown = self.warnings.iter().take(MAX_WARNINGS);
        if !self.warnings.is_empty() {
            header.element("div", &[("class", "warning"), ("role", "note")], |box_| {
                box_.element("ul", &[], |list| shown.for_each(|warning| warning.write(list)));
                if let Some(more @ 1..) = self.warnings.len().checked_sub(MAX_WARNINGS) {
                    box_.paragraph(&format!("{more} more warnings are left out."));
                }
            });
        }
        header.element("dl", &[], |list| {
            for (label, text) in &self.facts {
                list.leaf("dt", &[], label);
                list.leaf("dd", &[], text);
            }
        });
    }

    fn contents(&self, nav: &mut Markup) {
        nav.element("ul", &[], |list| {
            for section in &self.sections {
                list.element("li", &[], |item| {
                    item.leaf("a", &[("href", &format!("#{}", section.id))], &section.title);
                });
            }
        });
    }
}

impl Warning {
    fn write(&self, list: &mut Markup) {
        list.element("li", &[], |item| {
            if !self.place.is_empty() {
                item.leaf("code", &[], &self.place);
                item.text(": ");
            }
            item.text(&self.message);
            if !self.help.is_empty() {
                item.element("span", &[("class", "quiet")], |help| {
                    help.text(" (");
                    help.text(&self.help);
                    help.text(")");
                });
            }
        });
    }
}
