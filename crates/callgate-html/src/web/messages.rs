//! Errors, warnings and text of several lines as HTML.

use callgate_bpf::diagnostic::Severity;
use callgate_formats::built_in;
use callgate_formats::statements::Site;
use callgate_requests::source::Message;

use super::wording::words;
use crate::Markup;

/// The maximum number of messages that are shown.
const MAX: usize = 50;

/// Messages as a list, the errors first; nothing without messages. Positions end in `:LINE:COLUMN`.
pub(crate) fn markup(messages: &[Message]) -> Markup {
    let mut sorted: Vec<&Message> = messages.iter().collect();
    sorted.sort_by_key(|message| message.diagnostic.severity != Severity::Error);
    Markup::of(|markup| {
        if sorted.is_empty() {
            return;
        }
        markup.element("ul", &[("class", "findings")], |list| {
            sorted.iter().take(MAX).for_each(|message| item(list, message));
            if let Some(more @ 1..) = sorted.len().checked_sub(MAX) {
                list.leaf("li", &[], &format!("{more} more messages are left out."));
            }
        });
    })
}

fn item(list: &mut Markup, message: &Message) {
    let diagnostic = message.diagnostic.clone().in_words(words);
    list.element("li", &[], |item| {
        let (style, text) = match diagnostic.severity {
            Severity::Error => ("chip killed", "error"),
            Severity::Warning => ("chip conditional", "warning"),
        };
        item.span(style, text);
        item.text(" ");
        if let (Some(source), Some(at)) = (&message.source, diagnostic.position) {
            let place = format!("{source}:{}:{}", at.line, at.column);
            item.span("position", &place);
            item.text(" ");
        }
        item.element("span", &[], |text| text.prose(&diagnostic.message));
        if !diagnostic.help.is_empty() {
            item.element("div", &[], |help| {
                help.span("quiet", "help:");
                help.text(" ");
                help.prose(&diagnostic.help);
            });
            profiles(item, &diagnostic.help);
        }
    });
}

/// A button for each built-in profile that a help names: the page reads it in place of the text.
fn profiles(item: &mut Markup, help: &str) {
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && !"@._-".contains(c));
    let mut names: Vec<String> = Vec::new();
    for word in words.map(|word| word.trim_end_matches('.')) {
        // `docker-default@VERSION` stands for any version.
        let name = word.strip_suffix("@VERSION").unwrap_or(word);
        let is_known = matches!(built_in(name), Some(Ok(_)));
        if is_known && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        return;
    }
    item.element("div", &[("class", "buttons")], |buttons| {
        for name in &names {
            buttons.element("button", &[("type", "button"), ("data-source", name)], |button| {
                button.text(&format!("Show {name}"));
            });
        }
    });
}

/// Messages with a place in a source: the place as in [`markup`], the severity and the text.
pub(crate) fn placed(messages: &[Message]) -> impl Iterator<Item = (String, &'static str, &str)> {
    messages.iter().take(MAX).filter_map(|message| {
        let diagnostic = &message.diagnostic;
        let (source, at) = (message.source.as_ref()?, diagnostic.position?);
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = format!("{source}:{}:{}", at.line, at.column);
        Some((place, severity, diagnostic.message.as_str()))
    })
}

/// A place that a text states a rule at, after a blank; `name` is that of the text.
pub(crate) fn place(item: &mut Markup, name: &str, site: &Site) {
    let file = site.file.as_deref().unwrap_or(name);
    item.text(" ");
    let text = format!("{file}:{}:{}", site.position.line, site.position.column);
    item.span("position", &text);
}

/// The errors in a sentence.
pub(crate) fn status(messages: &[Message]) -> String {
    let mut errors =
        messages.iter().filter(|message| message.diagnostic.severity == Severity::Error);
    let first = errors.next().map_or("", |error| error.diagnostic.message.as_str());
    match errors.count() {
        0 => format!("Error: {first}"),
        more => format!("{} errors. The first: {first}", more + 1),
    }
}

/// The maximum number of lines that are shown.
const MAX_LINES: usize = 2000;

/// The lines of a text. What is left out is in the file that the page offers.
pub(crate) fn code(markup: &mut Markup, label: &str, text: &str) {
    markup.region("wide code", label, |code| {
        for line in text.lines().take(MAX_LINES) {
            code.leaf("div", &[("class", "line")], &line.replace('\t', "    "));
        }
    });
    if let Some(more @ 1..) = text.lines().count().checked_sub(MAX_LINES) {
        markup.paragraph(&format!("{more} more lines are left out; the file has all."));
    }
}
