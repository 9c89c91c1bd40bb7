//! The report of an experiment as text: the overheads, the findings, and the results as they were published.

use std::fmt::Write;

use callgate_bpf::printable::visible;
use callgate_measure::stats::Summary;

use callgate_measure::text::HEADING;

use crate::finding::Finding;
use crate::published::{BoxPlot, Published, PublishedTable};
use crate::report::ExperimentReport;

/// The minimum width of the labels of rows, and of a column.
const LABEL: usize = 16;
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
        let Finding { text: what, figure, unit, .. } = finding;
        let (value, bounds) = (figure.median, figure.bounds(2, ".."));
        let _ =
            writeln!(text, "{value:.2} {unit} ({bounds}){}: {}", finding.remark(), visible(what));
    }
    write_published(&mut text, published);
    text
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
    let count = |text: &str| text.chars().count();
    let label = table.rows.iter().map(|row| count(&visible(&row.label)) + 1).max();
    let label = label.unwrap_or(0).max(LABEL);
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| table.cells(row, "..").collect()).collect();
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| count(cell)).chain([count(&column.title)]).max();
            COLUMN.max(widest.unwrap_or(0) + 2)
        })
        .collect();
    let mut line = format!("  {:label$}", "");
    for (column, width) in table.columns.iter().zip(&widths) {
        let _ = write!(line, "{:>width$}", column.title);
    }
    let _ = writeln!(text, "{}", line.trim_end());
    for (row, cells) in table.rows.iter().zip(&rows) {
        let mut line = format!("  {:<label$}", visible(&row.label));
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{cell:>width$}");
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
