//! The results of an experiment in the form in which it was published, as text and as JSON.

use std::fmt::Write;

use anstyle::Style;
use callgate_measure::published::{BoxPlot, Published, PublishedTable};
use callgate_measure::stats::Summary;

use crate::text::printable;
use callgate_requests::json::Json;

/// The style of headings in reports.
pub(super) const HEADING: Style = Style::new().bold();

/// The width of the labels of rows.
const LABEL: usize = 32;

/// The minimum width of a column.
const COLUMN: usize = 10;

/// The width of a drawn box, which follows the name of its subject on a line of 80 characters.
const BOX: usize = 54;
const BOX_NAME: usize = 24;

/// The tables, box plots and notes.
pub(super) fn text(published: &Published) -> String {
    let mut text = String::new();
    for table in &published.tables {
        write_table(&mut text, table);
    }
    for plot in &published.plots {
        write_plot(&mut text, plot);
    }
    if !published.notes.is_empty() {
        text.push('\n');
    }
    for note in &published.notes {
        let _ = writeln!(text, "note: {}", printable(note));
    }
    text
}

fn write_table(text: &mut String, table: &PublishedTable) {
    let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", printable(&table.title));
    let width = |title: &str| COLUMN.max(title.chars().count() + 2);
    let mut line = format!("  {:LABEL$}", "");
    for column in &table.columns {
        let _ = write!(line, "{:>width$}", column.title, width = width(&column.title));
    }
    let _ = writeln!(text, "{}", line.trim_end());
    for row in &table.rows {
        let mut line = format!("  {:<LABEL$}", printable(&row.label).to_string());
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
    let _ = writeln!(text, "\n{HEADING}{}, {}{HEADING:#}", printable(&plot.title), plot.unit);
    let _ = writeln!(
        text,
        "  {:<BOX_NAME$}{:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "minimum", "quartile", "median", "quartile", "maximum"
    );
    for (name, five) in &rows {
        let Summary { minimum, lower, median, upper, high } = five;
        let name = printable(name).to_string();
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
        let name = printable(name).to_string();
        let _ = writeln!(text, "  {name:<BOX_NAME$}{}", five.drawn(low, high, BOX));
    }
    let (low, high) = (format!("{low:.digits$}"), format!("{high:.digits$}"));
    let _ = writeln!(text, "  {:BOX_NAME$}{low}{high:>width$}", "", width = BOX - low.len());
}

/// Everything, with stable keys.
pub(super) fn json(published: &Published) -> Json {
    let tables = published.tables.iter().map(|table| {
        let columns = table.columns.iter().map(|column| Json::from(column.title.as_str()));
        let rows = table.rows.iter().map(|row| {
            Json::Object(vec![
                ("label", row.label.as_str().into()),
                ("values", Json::array(row.values.iter().copied())),
            ])
        });
        Json::Object(vec![
            ("key", table.key.into()),
            ("title", table.title.as_str().into()),
            ("columns", Json::array(columns)),
            ("rows", Json::array(rows)),
        ])
    });
    let plots = published.plots.iter().map(|plot| {
        let rows = plot.rows.iter().map(|(name, runs)| {
            let numbers = Summary::of_runs(runs).map(|five| {
                let Summary { minimum, lower, median, upper, high } = five;
                Json::array([minimum, lower, median, upper, high])
            });
            Json::Object(vec![
                ("subject", name.as_str().into()),
                ("five_numbers", numbers.unwrap_or(Json::Null)),
                ("samples", Json::array(runs.iter().copied())),
            ])
        });
        Json::Object(vec![
            ("key", plot.key.into()),
            ("title", plot.title.as_str().into()),
            ("unit", plot.unit.into()),
            ("rows", Json::array(rows)),
        ])
    });
    let notes = published.notes.iter().map(|note| Json::from(note.as_str()));
    Json::Object(vec![
        ("tables", Json::array(tables)),
        ("box_plots", Json::array(plots)),
        ("notes", Json::array(notes)),
    ])
}
