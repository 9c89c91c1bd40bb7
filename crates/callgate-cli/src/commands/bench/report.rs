//! A measurement as text and as JSON.

use std::fmt::Write;

use callgate_measure::report::{Known, Report, Row, Section};
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

fn line(row: &Row, is_first: bool) -> String {
    let estimate = &row.estimate;
    let treatment = row.treatment.filter(|_| !is_first).map_or("", |treatment| treatment.name());
    let mut line = format!(
        "  {:<NAME$} {treatment:<8}{:>8.1}{:>8.1}",
        shortened(&row.name),
        estimate.minimum,
        estimate.median
    );
    if !is_first {
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

/// Everything, with stable keys.
pub(super) fn json(report: &Report) -> String {
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
    let value = Json::Object(vec![
        ("title", report.title.as_str().into()),
        ("setting", setting(&report.setting)),
        ("sections", Json::array(report.sections.iter().map(section))),
        ("findings", Json::array(findings)),
        ("published", published::json(&report.published)),
        ("noisy", report.noisy.clone().into()),
        ("interrupted", report.interrupted.into()),
    ]);
    format!("{value}\n")
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
            ("minimum_ns", row.estimate.minimum.into()),
            ("median_ns", row.estimate.median.into()),
            ("overhead_ns", interval(row.estimate.overhead)),
            ("spread_ns", Json::array([minimum, lower, median, upper, high])),
        ])
    });
    Json::Object(vec![
        ("title", section.title.as_str().into()),
        ("rows", Json::array(rows)),
        ("noise_ns", interval(section.noise)),
    ])
}

pub(super) fn interval(interval: Interval) -> Json {
    Json::Object(vec![
        ("median", interval.median.into()),
        ("low", interval.low.into()),
        ("high", interval.high.into()),
    ])
}
