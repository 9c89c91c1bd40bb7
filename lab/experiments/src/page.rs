//! The report of an experiment as an HTML page.

use callgate_html::{Page, Section as PageSection, Warning};
use callgate_measure::chart::box_rows;
use callgate_measure::page::{row, sections, warnings};
use callgate_measure::stats::Summary;

use crate::finding::Finding;
use crate::published::Published;
use crate::report::ExperimentReport;

/// The page, with the warnings that were printed before.
pub fn page(report: &ExperimentReport, printed: &[Warning]) -> String {
    let ExperimentReport { report, findings, published, .. } = report;
    let warnings = warnings(report.noisy.as_deref(), report.interrupted, printed);
    let (title, facts) = (report.title.clone(), report.setting.clone());
    let derived = (!findings.is_empty()).then(|| {
        PageSection::new("findings", "Findings", |body| {
            body.table("", &["finding", "value", "95 %"], |table| {
                findings.iter().for_each(|finding| row(table, &of_finding(finding)));
            });
        })
    });
    let all = derived.into_iter().chain(published_sections(published)).chain(sections(report));
    Page { title, facts, warnings, sections: all.collect() }.html()
}

/// The tables and box plots of an experiment, as it was published, and the notes.
fn published_sections(published: &Published) -> Vec<PageSection> {
    let tables = published.tables.iter().map(|own| {
        PageSection::new(format!("published-{}", own.key), own.title.as_str(), |body| {
            let titles = [""].into_iter().chain(own.columns.iter().map(|one| one.title.as_str()));
            body.table("", &titles.collect::<Vec<_>>(), |table| {
                for own_row in &own.rows {
                    let cells: Vec<String> = [own_row.label.clone()]
                        .into_iter()
                        .chain(own.cells(own_row, "…"))
                        .collect();
                    row(table, &cells);
                }
            });
        })
    });
    let plots = published.plots.iter().map(|plot| {
        PageSection::new(format!("published-{}", plot.key), plot.title.as_str(), |body| {
            let rows = plot.rows.iter();
            let rows =
                rows.filter_map(|(name, runs)| Some((name.as_str(), Summary::of_runs(runs)?)));
            let unit = format!("{}: minimum, quartiles, median and maximum", plot.unit);
            body.append(&box_rows(&plot.title, &unit, &rows.collect::<Vec<_>>()));
        })
    });
    let notes = (!published.notes.is_empty()).then(|| {
        PageSection::new("notes", "Notes", |body| {
            published.notes.iter().for_each(|note| body.paragraph(note));
        })
    });
    tables.chain(plots).chain(notes).collect()
}

fn of_finding(finding: &Finding) -> [String; 3] {
    let Finding { text, figure, unit, .. } = finding;
    let known = format!("{}{}", figure.bounds(2, "…"), finding.remark());
    [(*text).to_owned(), format!("{:.2} {unit}", figure.median), known]
}
