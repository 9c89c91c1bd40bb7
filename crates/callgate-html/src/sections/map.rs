//! The map: all syscalls of an architecture as coloured squares, grouped by purpose.

use callgate::explain::{ArchExplanation, Outcome};
use callgate::purposes::Purpose;

use super::comparison::Comparison;
use crate::describe::{Class, Entry, Subject, by_purpose, entries, left_out, tooltip};
use crate::markup::Markup;
use crate::page::Section;

/// The size of a square and its distance from the next.
const SQUARE: usize = 17;
const STEP: usize = 20;
/// The squares of a row. A group is then 320 pixels wide, which fits on the smallest screens.
const COLUMNS: usize = 16;

/// The map of a filter; with a comparison, what has changed is marked.
pub fn map(subject: &Subject<'_>, compared: Option<&Comparison>) -> Section {
    Section::new("map", "Map of all syscalls", |body| {
        let (shown, others) = subject.shown_arches();
        let used: Vec<Class> = Class::ALL
            .into_iter()
            .filter(|class| {
                let mut groups = shown.iter().flat_map(|arch| &arch.groups);
                groups.any(|group| Class::of(&group.outcome) == *class)
            })
            .collect();
        let has_dangers = shown.iter().any(|arch| !arch.dangers.is_empty());
        legend(body, &used, has_dangers, compared.is_some());
        for (at, arch) in shown.iter().enumerate() {
            let entries = entries(arch);
            let groups = by_purpose(&entries);
            let summary = format!("{}: {}", arch.arch, counts(&entries));
            body.details(at == 0, &summary, |details| {
                details.element("div", &[("class", "map")], |cards| {
                    for (purpose, own) in &groups {
                        card(cards, arch, *purpose, own, compared);
                    }
                });
                table(details, arch, &groups);
            });
        }
        if !others.is_empty() {
            body.paragraph(&left_out("The maps", &others));
        }
    })
}

/// How many squares there are of each class.
fn counts(entries: &[Entry<'_>]) -> String {
    let of = |class: &Class| entries.iter().filter(|(.., own)| Class::of(own) == *class).count();
    let all = Class::ALL.iter().map(|class| (of(class), class.title()));
    let parts: Vec<String> = all
        .filter(|(count, _)| *count > 0)
        .map(|(count, title)| format!("{count} {title}"))
        .collect();
    parts.join(", ")
}

fn legend(body: &mut Markup, used: &[Class], has_dangers: bool, marks_changes: bool) {
    body.element("ul", &[("class", "legend")], |list| {
        for class in used {
            list.element("li", &[], |item| {
                svg(item, (SQUARE, SQUARE), "", |svg| {
                    square(svg, *class, false, (0, 0), "", false)
                });
                item.text(&format!(" {}", class.title()));
            });
        }
        if has_dangers {
            list.element("li", &[], |item| {
                svg(item, (SQUARE, SQUARE), "", |svg| {
                    square(svg, Class::Allowed, true, (0, 0), "", false);
                });
                item.text(" allowed and dangerous");
            });
        }
        if marks_changes {
            list.element("li", &[], |item| {
                svg(item, (SQUARE, SQUARE), "", |svg| {
                    square(svg, Class::Allowed, false, (0, 0), "", true)
                });
                item.text(" thick frame: changed");
            });
        }
    });
    body.quiet(
        "Each square is a syscall, in groups by what it is for. The table below each map has their names.",
    );
}

/// The squares of a group.
fn card(
    cards: &mut Markup,
    arch: &ArchExplanation,
    purpose: Purpose,
    entries: &[&Entry<'_>],
    compared: Option<&Comparison>,
) {
    cards.element("div", &[("class", "card")], |card| {
        card.leaf("h3", &[], purpose.title());
        let rows = entries.len().div_ceil(COLUMNS);
        // All groups have one width, so that squares have one size where the page scales them.
        let size = (COLUMNS * STEP, rows * STEP);
        let title = format!("{} on {}: {}", purpose.title(), arch.arch, {
            let entries: Vec<Entry<'_>> = entries.iter().map(|entry| **entry).collect();
            counts(&entries)
        });
        svg(card, size, &title, |svg| {
            for (at, (nr, name, outcome)) in entries.iter().enumerate() {
                let place = (at % COLUMNS * STEP, at / COLUMNS * STEP);
                let mut tip =
                    format!("{name} ({nr}): {}", tooltip(outcome, arch.arch, (*nr, name)));
                let before = compared.and_then(|compared| compared.before(arch.arch, *nr));
                if let Some(before) = before {
                    tip += &format!(". Before: {}", tooltip(before, arch.arch, (*nr, name)));
                }
                let is_dangerous = arch.dangers.contains(name);
                square(svg, Class::of(outcome), is_dangerous, place, &tip, before.is_some());
            }
        });
    });
}

/// A picture of this size; without a title it is decoration.
fn svg(
    body: &mut Markup,
    (width, height): (usize, usize),
    title: &str,
    content: impl FnOnce(&mut Markup),
) {
    let (box_, width, height) =
        (format!("0 0 {width} {height}"), width.to_string(), height.to_string());
    let mut attributes = vec![
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("viewBox", box_.as_str()),
        ("width", width.as_str()),
        ("height", height.as_str()),
    ];
    match title {
        "" => attributes.push(("aria-hidden", "true")),
        title => attributes.extend([("role", "img"), ("aria-label", title)]),
    }
    body.element("svg", &attributes, content);
}

/// A square. What is dangerous is so because it is permitted, at least with some arguments.
fn square(
    svg: &mut Markup,
    class: Class,
    is_dangerous: bool,
    (x, y): (usize, usize),
    tip: &str,
    is_changed: bool,
) {
    let changed = if is_changed { " changed" } else { "" };
    let danger = if is_dangerous { " danger" } else { "" };
    let style = format!("sq {}{danger}{changed}", class.style());
    let place = format!("translate({x} {y})");
    svg.element("g", &[("class", &style), ("transform", &place)], |g| {
        if !tip.is_empty() {
            g.leaf("title", &[], tip);
        }
        let size = (SQUARE - 1).to_string();
        g.empty(
            "rect",
            &[("x", ".5"), ("y", ".5"), ("width", &size), ("height", &size), ("rx", "2")],
        );
        if class == Class::Conditional {
            g.empty("path", &[("d", &format!("M1 {size}L{size} 1V{size}Z"))]);
        }
        let letter = if is_dangerous { "!" } else { class.letter() };
        if !letter.is_empty() {
            g.leaf("text", &[("x", "8.5"), ("y", "13")], letter);
        }
    });
}

/// The same as text.
fn table(details: &mut Markup, arch: &ArchExplanation, groups: &[(Purpose, Vec<&Entry<'_>>)]) {
    details.details(false, &format!("The map of {} as a table", arch.arch), |details| {
        details.table("words", &["Group", "What happens", "Syscalls"], |table| {
            for (purpose, entries) in groups {
                rows(table, *purpose, entries);
            }
        });
    });
}

fn rows(table: &mut Markup, purpose: Purpose, entries: &[&Entry<'_>]) {
    // What happens, and to which syscalls.
    let mut outcomes: Vec<(Class, String, Vec<&str>)> = Vec::new();
    for (_, name, outcome) in entries {
        let (class, text) = (Class::of(outcome), label(outcome));
        match outcomes.iter_mut().find(|(_, other, _)| *other == text) {
            Some((.., names)) => names.push(name),
            None => outcomes.push((class, text, vec![name])),
        }
    }
    outcomes.sort_by_key(|(class, ..)| *class);
    let rowspan = outcomes.len().to_string();
    for (at, (class, text, names)) in outcomes.iter().enumerate() {
        table.element("tr", &[], |tr| {
            if at == 0 {
                tr.leaf("th", &[("scope", "row"), ("rowspan", &rowspan)], purpose.title());
            }
            tr.element("td", &[], |td| {
                td.leaf("span", &[("class", &format!("chip {}", class.style()))], text);
            });
            tr.leaf("td", &[("class", "names")], &names.join(", "));
        });
    }
}

fn label(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Always(verdict) => verdict.to_string(),
        _ => Class::Conditional.title().to_owned(),
    }
}
