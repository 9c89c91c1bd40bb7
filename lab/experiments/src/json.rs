//! The report of an experiment as JSON.

use callgate_measure::Samples;
use callgate_measure::json::{self, interval};
use callgate_measure::stats::Summary;
use callgate_requests::json::Json;

use crate::published::{Figure, Published};
use crate::report::ExperimentReport;

/// The version of the schema, lab/schemas/measurements.json. It is incremented when keys are added or change their meaning.
const VERSION: u32 = 2;

/// Everything, with stable keys.
pub fn json(report: &ExperimentReport, samples: &Samples) -> String {
    let ExperimentReport { name, report, findings, published } = report;
    let findings = findings.iter().map(|finding| {
        Json::Object(vec![
            ("key", finding.key.into()),
            ("value", finding.figure.median.into()),
            ("unit", finding.unit.into()),
            ("text", finding.text.into()),
            ("interval", interval(finding.figure)),
            ("resolved", finding.is_resolved.into()),
        ])
    });
    let mut members = vec![
        ("callgate", "lab experiment".into()),
        ("version", VERSION.into()),
        ("experiment", (*name).into()),
    ];
    members.extend(json::report(report, samples));
    members.push(("findings", Json::array(findings)));
    members.push(("published", of_published(published)));
    format!("{}\n", Json::Object(members))
}

fn of_published(published: &Published) -> Json {
    let tables = published.tables.iter().map(|table| {
        let columns = table.columns.iter().map(|column| Json::from(column.title.as_str()));
        let rows = table.rows.iter().map(|row| {
            let values = row.values.iter().map(|figure| figure.and_then(Figure::value));
            let intervals = row
                .values
                .iter()
                .map(|figure| figure.and_then(Figure::interval).map_or(Json::Null, interval));
            Json::Object(vec![
                ("label", row.label.as_str().into()),
                ("values", Json::array(values)),
                ("intervals", Json::array(intervals)),
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
