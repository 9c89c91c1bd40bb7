//! Findings of checks of the filter.

use callgate::lint::{self, Check, Level};

use crate::page::Section;

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// What was found, in a line.
    pub title: String,
    /// Where: file, line and column, or empty.
    pub position: String,
    /// Syscalls that show it, or empty.
    pub example: String,
    /// What to do, or empty.
    pub fix: String,
}

impl Finding {
    /// A finding of lint with a title, its place and its examples as text.
    pub fn new(
        found: &lint::Finding,
        title: String,
        place: Option<String>,
        examples: &[String],
    ) -> Finding {
        Finding {
            check: found.check,
            title,
            position: place.unwrap_or_default(),
            example: examples.join("; "),
            fix: found.help.to_string(),
        }
    }
}

fn style(level: Level) -> &'static str {
    match level {
        Level::Error => "chip killed",
        Level::Warning => "chip conditional",
        Level::Note => "chip notified",
    }
}

/// The maximum number of findings that are listed.
const MAX_FINDINGS: usize = 200;

/// The findings, the most serious first.
pub fn findings(findings: &[Finding]) -> Section {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.check.level()));
    Section::new("findings", "Findings", |body| {
        if sorted.is_empty() {
            body.paragraph("The checks found nothing.");
            return;
        }
        body.element("ul", &[("class", "findings")], |list| {
            for finding in sorted.iter().take(MAX_FINDINGS) {
                list.element("li", &[], |item| {
                    let level = finding.check.level();
                    item.span(style(level), level.name());
                    item.text(" ");
                    item.element("b", &[], |title| title.prose(&finding.title));
                    item.text(" ");
                    item.leaf("code", &[("class", "quiet")], finding.check.id());
                    let parts = [
                        ("at", &finding.position),
                        ("example:", &finding.example),
                        ("fix:", &finding.fix),
                    ];
                    for (label, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
                        item.element("div", &[], |div| {
                            div.span("quiet", label);
                            div.text(" ");
                            match label {
                                "at" => div.span("position", text),
                                _ => div.prose(text),
                            }
                        });
                    }
                });
            }
        });
        if let Some(more @ 1..) = sorted.len().checked_sub(MAX_FINDINGS) {
            body.paragraph(&format!("{more} more findings are left out."));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_escaped_and_sorted() {
        let finding = |check, title: &str| Finding {
            check,
            title: title.to_owned(),
            position: "<b>:1:2".to_owned(),
            example: String::new(),
            fix: "\u{1b}[1m".to_owned(),
        };
        let list =
            [finding(Check::UnmergedStack, "second"), finding(Check::ArchNotChecked, "first")];
        let text = findings(&list).markup().into_string();
        assert!(text.find("first") < text.find("second"), "{text}");
        assert!(text.contains("&lt;b&gt;:1:2") && text.contains(r"\u{1b}[1m"), "{text}");
        assert!(!text.contains("example:"), "{text}");
    }
}
