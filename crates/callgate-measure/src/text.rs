//! A report as text for a terminal. Headings are styled: print it with `anstream`, or strip the escapes.

use std::fmt::Write;

use anstyle::Style;
use callgate_bpf::printable::visible;

use crate::page::DENIED;
use crate::report::{Aggregate, Executed, Report, Row, Section};
use crate::stats::Interval;

/// The style of headings.
pub const HEADING: Style = Style::new().bold();

/// The width of the first column.
pub const NAME: usize = 24;

/// The tables.
pub fn text(report: &Report) -> String {
    let mut text = format!("{HEADING}{}{HEADING:#}\n", visible(&report.title));
    for (label, value) in &report.setting {
        let _ = writeln!(text, "  {label:<12}{}", visible(value));
    }
    for section in &report.sections {
        let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", visible(&section.title));
        let _ = writeln!(
            text,
            "  {:<NAME$} {:<8}{:>8}{:>8}{:>10}  95 % interval",
            "nanoseconds", "", "minimum", "median", "overhead"
        );
        for (at, row) in section.rows.iter().enumerate() {
            text.push_str(&line(row, section.noise, at == 0));
        }
        let noise = section.noise;
        let _ = writeln!(
            text,
            "  {:<NAME$} {:<8}{:>8}{:>8}{:>+10.1}  {}",
            "no filter again (noise)",
            "",
            "",
            "",
            noise.median,
            between(noise)
        );
        if section.rows.iter().all(|row| row.treatment.is_none()) {
            text.push_str(&executed(section));
        }
    }
    if !report.aggregates.is_empty() {
        text.push('\n');
        report.aggregates.iter().for_each(|one| text.push_str(&aggregate(one)));
    }
    text
}

/// The mean numbers of executed instructions; nothing if the bodies are not syscalls.
fn executed(section: &Section) -> String {
    let mut text = String::new();
    for row in section.rows.iter().filter(|row| row.filters > 0) {
        let Some(Executed { uncached, cached }) = row.executed else { continue };
        if text.is_empty() {
            let title = "executed instructions";
            let _ = writeln!(text, "  {title:<NAME$} {:>8}{:>8}{:>10}", "", "cached", "uncached");
        }
        let name = shortened(&row.name);
        let _ = writeln!(text, "  {name:<NAME$} {:>8}{cached:>8.1}{uncached:>10.1}", "");
    }
    text
}

/// `aggregate: -29.1 % (-31.0 .. -27.2) of the overhead over no filter`, and of what.
fn aggregate(one: &Aggregate) -> String {
    let Aggregate { after, before, base, change, executed, executed_uncached } = one;
    let percent = |share: f64| share * 100.0;
    let change = match change {
        Some(Interval { median, low, high }) => {
            format!(
                "{:+.1} % ({:+.1} .. {:+.1}) of",
                percent(*median),
                percent(*low),
                percent(*high)
            )
        }
        None => "not resolved:".to_owned(),
    };
    let (after, before) = (visible(after), visible(before));
    let mut text = format!("aggregate: {change} the overhead over {base}\n");
    let _ = writeln!(text, "  {after}\n  instead of {before}");
    let kinds = [(executed, "with the kernel's cache"), (executed_uncached, "without")];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter_map(|(share, kind)| Some(format!("{:+.1} % {kind}", percent((*share)?))))
        .collect();
    if !kinds.is_empty() {
        let _ = writeln!(text, "  executed instructions: {}", kinds.join(", "));
    }
    text
}

fn line(row: &Row, noise: Interval, is_first: bool) -> String {
    let estimate = &row.estimate;
    let treatment = row.treatment.filter(|_| !is_first).map_or("", |treatment| treatment.name());
    let mut line = format!(
        "  {:<NAME$} {treatment:<8}{:>8.1}{:>8.1}",
        shortened(&row.name),
        estimate.minimum,
        estimate.median
    );
    if row.is_denied() {
        let _ = write!(line, "  {DENIED}");
    } else if !is_first {
        let overhead = estimate.overhead;
        let _ = write!(line, "{:>+10.1}  {}", overhead.median, between(overhead));
        let remark = overhead.remark(noise);
        if !remark.is_empty() {
            let _ = write!(line, ", {remark}");
        }
    }
    line + "\n"
}

/// `1.0 .. 2.0`, or `unknown` after one round.
pub fn between(interval: Interval) -> String {
    interval.bounds(1, "..")
}

/// Shortens a name to [`NAME`] characters at its start: the end is more specific.
pub fn shortened(name: &str) -> String {
    let name = visible(name);
    match name.chars().count().checked_sub(NAME) {
        None | Some(0) => name,
        Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}
