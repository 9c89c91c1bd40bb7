//! A measurement as text and as JSON.

use std::fmt::Write;

use callgate_measure::Samples;
use callgate_measure::page::DENIED;
use callgate_measure::report::{Aggregate, Executed, Known, Report, Row, Section};
use callgate_measure::stats::{Interval, Summary};

use super::published::{self, HEADING};
use crate::text::printable;
use callgate_requests::json::Json;

/// The width of the first column.
pub(super) const NAME: usize = 24;

/// The tables.
pub(super) fn text(report: &Report) -> String {
    let mut text = format!("{HEADING}{}{HEADING:#}\n", printable(&report.title));
    for (label, value) in &report.setting {
        let _ = writeln!(text, "  {label:<12}{}", printable(value));
    }
    for section in &report.sections {
        let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", printable(&section.title));
        let _ = writeln!(
            text,
            "  {:<NAME$} {:<8}{:>8}{:>8}{:>10}  95 % interval",
            "nanoseconds", "", "minimum", "median", "overhead"
        );
        for (at, row) in section.rows.iter().enumerate() {
            text.push_str(&line(row, at == 0));
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
    if !report.findings.is_empty() {
        text.push('\n');
        for finding in &report.findings {
            let _ = write!(text, "{:.2} {}", finding.value, finding.unit);
            if let Some(known) = finding.known {
                let _ = write!(text, " ({}), {}", between(known.interval), resolved(known));
            }
            let _ = writeln!(text, ": {}", printable(&finding.text));
        }
    }
    text.push_str(&published::text(&report.published));
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
    let (after, before) = (printable(after), printable(before));
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

fn line(row: &Row, is_first: bool) -> String {
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
    }
    line + "\n"
}

fn resolved(known: Known) -> &'static str {
    if known.is_resolved { "resolved" } else { "not resolved" }
}

fn between(interval: Interval) -> String {
    format!("{:.1} .. {:.1}", interval.low, interval.high)
}

/// Shortens a name at its start: the end is more specific.
pub(super) fn shortened(name: &str) -> String {
    let name = printable(name).to_string();
    match name.chars().count().checked_sub(NAME) {
        None | Some(0) => name,
        Some(more) => format!("…{}", name.chars().skip(more + 1).collect::<String>()),
    }
}

/// The version of the schema, docs/schemas/bench.json. It is incremented when keys are added or change their meaning.
pub(super) const VERSION: u32 = 1;

/// Everything, with stable keys.
pub(super) fn json(report: &Report, experiment: Option<&str>, samples: &Samples) -> String {
    format!("{}\n", value(report, experiment, samples.rounds(), samples.outliers()))
}

fn value(report: &Report, experiment: Option<&str>, rounds: usize, outliers: f64) -> Json {
    let findings = report.findings.iter().map(|finding| {
        Json::Object(vec![
            ("key", finding.key.into()),
            ("value", finding.value.into()),
            ("unit", finding.unit.into()),
            ("text", finding.text.into()),
            ("interval", finding.known.map_or(Json::Null, |known| interval(known.interval))),
            ("resolved", finding.known.map(|known| known.is_resolved).into()),
        ])
    });
    Json::Object(vec![
        ("callgate", "bench".into()),
        ("version", VERSION.into()),
        ("experiment", experiment.into()),
        ("title", report.title.as_str().into()),
        ("setting", setting(&report.setting)),
        ("rounds", rounds.into()),
        ("outliers", outliers.into()),
        ("sections", Json::array(report.sections.iter().map(section))),
        ("aggregates", Json::array(report.aggregates.iter().map(aggregate_json))),
        ("findings", Json::array(findings)),
        ("published", published::json(&report.published)),
        ("noisy", report.noisy.clone().into()),
        ("interrupted", report.interrupted.into()),
    ])
}

fn aggregate_json(one: &Aggregate) -> Json {
    Json::Object(vec![
        ("subject", one.after.as_str().into()),
        ("instead_of", one.before.as_str().into()),
        ("over", one.base.as_str().into()),
        ("change", one.change.map_or(Json::Null, interval)),
        ("executed_change", one.executed.map_or(Json::Null, Json::Float)),
        ("executed_uncached_change", one.executed_uncached.map_or(Json::Null, Json::Float)),
    ])
}

pub(super) fn setting(facts: &[(&'static str, String)]) -> Json {
    Json::array(facts.iter().map(|(label, value)| {
        Json::Object(vec![("label", (*label).into()), ("value", value.as_str().into())])
    }))
}

fn section(section: &Section) -> Json {
    let rows = section.rows.iter().map(|row| {
        let Summary { minimum, lower, median, upper, high } = row.estimate.spread;
        Json::Object(vec![
            ("subject", row.name.as_str().into()),
            ("filters", row.filters.into()),
            ("insns", row.insns.into()),
            ("treatment", row.treatment.map(|treatment| treatment.name()).into()),
            ("denied", row.is_denied().into()),
            ("executed", row.executed.map_or(Json::Null, executed_json)),
            ("minimum_ns", row.estimate.minimum.into()),
            ("median_ns", row.estimate.median.into()),
            // The kernel skips a denied syscall: the difference is not an overhead.
            (
                "overhead_ns",
                match row.is_denied() {
                    true => Json::Null,
                    false => interval(row.estimate.overhead),
                },
            ),
            ("spread_ns", Json::array([minimum, lower, median, upper, high])),
        ])
    });
    Json::Object(vec![
        ("title", section.title.as_str().into()),
        ("rows", Json::array(rows)),
        ("noise_ns", interval(section.noise)),
    ])
}

fn executed_json(executed: Executed) -> Json {
    Json::Object(vec![("cached", executed.cached.into()), ("uncached", executed.uncached.into())])
}

pub(super) fn interval(interval: Interval) -> Json {
    Json::Object(vec![
        ("median", interval.median.into()),
        ("low", interval.low.into()),
        ("high", interval.high.into()),
    ])
}
