//! Text of several lines as HTML.

use crate::Markup;

/// The maximum number of lines that are shown.
const MAX_LINES: usize = 2000;

/// The lines of a text. What is left out is in the file that the page offers.
pub(crate) fn code(markup: &mut Markup, label: &str, text: &str) {
    let attributes =
        [("class", "wide code"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)];
    markup.element("div", &attributes, |code| {
        for line in text.lines().take(MAX_LINES) {
            code.leaf("div", &[("class", "line")], &line.replace('\t', "    "));
        }
    });
    if let Some(more @ 1..) = text.lines().count().checked_sub(MAX_LINES) {
        markup.leaf("p", &[], &format!("{more} more lines are left out; the file has all."));
    }
}
