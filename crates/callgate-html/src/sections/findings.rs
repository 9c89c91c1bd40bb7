//! Findings of checks of the filter.

use crate::page::Section;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Attackers may use it.
    Danger,
    /// Probably a mistake.
    Warning,
    /// Worth knowing.
    Note,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable name of the check.
    pub id: String,
    /// How serious it is.
    pub severity: Severity,
    /// What was found, in a line.
    pub title: String,
    /// Where: file, line and column, or empty.
    pub position: String,
    /// A syscall that shows it, or empty.
    pub example: String,
    /// What to do, or empty.
    pub fix: String,
}

impl Severity {
    fn chip(self) -> (&'static str, &'static str) {
        match self {
            Severity::Danger => ("chip killed", "danger"),
            Severity::Warning => ("chip conditional", "warning"),
            Severity::Note => ("chip notified", "note"),
        }
    }
}

/// The maximum number of findings that are listed.
const MAX_FINDINGS: usize = 200;

/// The findings, the most serious first.
pub fn findings(findings: &[Finding]) -> Section {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    Section::new("findings", "Findings", |body| {
        if sorted.is_empty() {
            body.leaf("p", &[], "The checks found nothing.");
            return;
        }
        body.element("ul", &[("class", "findings")], |list| {
            for finding in sorted.iter().take(MAX_FINDINGS) {
                list.element("li", &[], |item| {
                    let (style, text) = finding.severity.chip();
                    item.leaf("span", &[("class", style)], text);
                    item.text(" ");
                    item.leaf("b", &[], &finding.title);
                    item.text(" ");
                    item.leaf("code", &[("class", "quiet")], &finding.id);
                    let parts = [
                        ("at", &finding.position),
                        ("example:", &finding.example),
                        ("fix:", &finding.fix),
                    ];
                    for (label, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
                        item.element("div", &[], |div| {
                            div.leaf("span", &[("class", "quiet")], label);
                            div.text(" ");
                            let style = if label == "at" { "position" } else { "text" };
                            div.leaf("span", &[("class", style)], text);
                        });
                    }
                });
            }
        });
        if let Some(more @ 1..) = sorted.len().checked_sub(MAX_FINDINGS) {
            body.leaf("p", &[], &format!("{more} more findings are left out."));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_escaped_and_sorted() {
        let finding = |severity, title: &str| Finding {
            id: "x".to_owned(),
            severity,
            title: title.to_owned(),
            position: "<b>:1:2".to_owned(),
            example: String::new(),
            fix: "\u{1b}[1m".to_owned(),
        };
        let list = [finding(Severity::Note, "second"), finding(Severity::Danger, "first")];
        let text = findings(&list).markup().into_string();
        assert!(text.find("first") < text.find("second"), "{text}");
        assert!(text.contains("&lt;b&gt;:1:2") && text.contains(r"\u{1b}[1m"), "{text}");
        assert!(!text.contains("example:"), "{text}");
    }
}
