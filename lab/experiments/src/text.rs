//! The report of an experiment as text: the overheads, the findings, and the results as they were published.

use std::fmt::Write;

use callgate_bpf::printable::visible;
use callgate_measure::stats::Summary;

use callgate_measure::text::{HEADING, between};

use crate::finding::Known;
use crate::published::{BoxPlot, Published, PublishedTable};
use crate::report::ExperimentReport;

/// The width of the labels of rows.
const LABEL: usize = 32;

/// The minimum width of a column.
const COLUMN: usize = 10;

/// The width of a drawn box, which follows the name of its subject on a line of 80 characters.
const BOX: usize = 54;
const BOX_NAME: usize = 24;

/// The tables, findings, box plots and notes.
pub fn text(report: &ExperimentReport) -> String {
    let ExperimentReport { report, findings, published, .. } = report;
    let mut text = callgate_measure::text::text(report);
    if !findings.is_empty() {
        text.push('\n');
    }
    for finding in findings {
        let _ = write!(text, "{:.2} {}", finding.value, finding.unit);
        if let Some(known) = finding.known {
            let _ = write!(text, " ({}), {}", between(known.interval), resolved(known));
        }
        let _ = writeln!(text, ": {}", visible(finding.text));
    }
    write_published(&mut text, published);
    text
}

fn resolved(known: Known) -> &'static str {
    if known.is_resolved { "resolved" } else { "not resolved" }
}

fn write_published(text: &mut String, published: &Published) {
    for table in &published.tables {
        write_table(text, table);
    }
    for plot in &published.plots {
        write_plot(text, plot);
    }
    if !published.notes.is_empty() {
        text.push('\n');
    }
    for note in &published.notes {
        let _ = writeln!(text, "note: {}", visible(note));
    }
}

fn write_table(text: &mut String, table: &PublishedTable) {
    let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", visible(&table.title));
    let width = |title: &str| COLUMN.max(title.chars().count() + 2);
    let mut line = format!("  {:LABEL$}", "");
    for column in &table.columns {
        let _ = write!(line, "{:>width$}", column.title, width = width(&column.title));
    }
    let _ = writeln!(text, "{}", line.trim_end());
    for row in &table.rows {
        let mut line = format!("  {:<LABEL$}", visible(&row.label));
        for (value, column) in table.cells(row).zip(&table.columns) {
            let _ = write!(line, "{value:>width$}", width = width(&column.title));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn write_plot(text: &mut String, plot: &BoxPlot) {
    let rows = plot.rows.iter().filter_map(|(name, runs)| Some((name, Summary::of_runs(runs)?)));
    let rows: Vec<(&String, Summary)> = rows.collect();
    let digits = plot.digits;
    let _ = writeln!(text, "\n{HEADING}{}, {}{HEADING:#}", visible(&plot.title), plot.unit);
    let _ = writeln!(
        text,
        "  {:<BOX_NAME$}{:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "minimum", "quartile", "median", "quartile", "maximum"
    );
    for (name, five) in &rows {
        let Summary { minimum, lower, median, upper, high } = five;
        let name = visible(name);
        let _ = writeln!(
            text,
            "  {name:<BOX_NAME$}{minimum:>9.digits$} {lower:>9.digits$} {median:>9.digits$} \
             {upper:>9.digits$} {high:>9.digits$}"
        );
    }
    let low = rows.iter().map(|(_, five)| five.minimum).fold(f64::INFINITY, f64::min);
    let high = rows.iter().map(|(_, five)| five.high).fold(f64::NEG_INFINITY, f64::max);
    text.push('\n');
    for (name, five) in &rows {
        let name = visible(name);
        let _ = writeln!(text, "  {name:<BOX_NAME$}{}", five.drawn(low, high, BOX));
    }
    let (low, high) = (format!("{low:.digits$}"), format!("{high:.digits$}"));
    let _ = writeln!(text, "  {:BOX_NAME$}{low}{high:>width$}", "", width = BOX - low.len());
}
