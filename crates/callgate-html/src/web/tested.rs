//! The tests of a filter: expectations that are checked with each answer.

use callgate_requests::expectations::{Checked, MAX_EXPECTATIONS, check};
use callgate_requests::json::Json;

use super::analysis::Analysis;
use crate::{Markup, counted};

/// The results of all expectations.
pub(crate) struct Tested {
    checked: Vec<Checked>,
    more: usize,
}

impl Tested {
    /// Checks the expectations of a text about a filter.
    pub(crate) fn of(analysis: &mut Analysis<'_>, text: &str) -> Tested {
        let machine = analysis.source.reading.machine;
        let filter = (&mut analysis.store, analysis.root);
        let (checked, more) = check(text, filter, &analysis.arches, machine);
        Tested { checked, more }
    }

    /// In a sentence; empty without expectations.
    pub(crate) fn status(&self) -> String {
        let failed = self.checked.iter().filter(|one| !one.is_met()).count();
        let all = self.checked.len();
        let more = match self.more {
            0 => String::new(),
            more => format!(" {more} more are not checked: the limit is {MAX_EXPECTATIONS}."),
        };
        match failed {
            _ if all == 0 => String::new(),
            0 if all == 1 => format!("1 test passes.{more}"),
            0 => format!("All {} pass.{more}", counted(all, "test")),
            1 => format!("1 of {} fails.{more}", counted(all, "test")),
            _ => format!("{failed} of {} fail.{more}", counted(all, "test")),
        }
    }

    /// The field `tests`: `status`, `failed`, `body` (HTML), and `lines`, each with `line`, `passes` and `text`.
    pub(crate) fn json(&self) -> Json {
        let lines = self.checked.iter().map(|one| {
            Json::Object(vec![
                ("line", one.line.into()),
                ("passes", one.is_met().into()),
                ("text", one.outcome().into()),
            ])
        });
        let failed = self.checked.iter().filter(|one| !one.is_met()).count();
        Json::Object(vec![
            ("status", self.status().into()),
            ("failed", failed.into()),
            ("body", self.markup().into_string().into()),
            ("lines", Json::array(lines)),
        ])
    }

    /// The tests that fail, as items of a list; what passes is said in the status.
    fn markup(&self) -> Markup {
        /// The maximum number of tests that are listed.
        const MAX: usize = 20;
        let failed: Vec<&Checked> = self.checked.iter().filter(|one| !one.is_met()).collect();
        Markup::of(|markup| {
            if failed.is_empty() {
                return;
            }
            markup.element("ul", &[("class", "findings")], |list| {
                for one in failed.iter().take(MAX) {
                    list.element("li", &[], |item| {
                        item.leaf("span", &[("class", "chip killed")], kind(one));
                        item.text(" ");
                        item.leaf(
                            "span",
                            &[("class", "position")],
                            &format!("tests:{}:1", one.line),
                        );
                        item.text(" ");
                        item.leaf("code", &[], &one.text);
                        item.text(": ");
                        item.text(&one.outcome());
                        help(item, one);
                    });
                }
                if let Some(more @ 1..) = failed.len().checked_sub(MAX) {
                    list.leaf("li", &[], &format!("{} more fail.", counted(more, "test")));
                }
            });
        })
    }
}

/// What is wrong: the filter, or the line.
fn kind(one: &Checked) -> &'static str {
    if one.result.is_ok() { "fails" } else { "error" }
}

fn help(item: &mut Markup, one: &Checked) {
    let help = one.result.as_ref().err().map(|error| error.help.to_string());
    let Some(help) = help.filter(|help| !help.is_empty()) else { return };
    item.element("div", &[], |line| {
        line.span("quiet", "help:");
        line.text(" ");
        line.prose(&help);
    });
}
