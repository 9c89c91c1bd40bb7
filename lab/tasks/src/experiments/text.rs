//! The page.

use std::fmt::Write;
use std::time::Duration;

use callgate_experiments::published::{BoxPlot, PublishedTable};
use callgate_measure::report::Aggregate;
use callgate_measure::stats::Summary;
use callgate_measure::{Batches, setting};

use super::measured::Measured;
use super::originals::{self, Figures};
use crate::machine;
use crate::table::Table;

const HEAD: &str = "\
# Published experiments

Measurements of seccomp filters that others have published, repeated with `cargo lab experiment NAME`: each published
table, ours beside it, and what differs and why. [measuring.md](measuring.md#published-experiments) describes the experiments.
Compare figures of one run only: machines and kernels differ. An empty cell was not published, or could not be measured here;
notes say why. Overheads are medians of differences in the same round, so they are not exactly the differences of the medians
in a table. On a machine with other work, differences of a few percent are noise, and so are cold figures after a short run;
that command prints the confidence intervals.
";

pub(super) fn page(all: &[Measured], load: Option<String>, time: Option<Duration>) -> String {
    let each =
        time.map_or("its default time".to_owned(), |time| format!("`--time {}`", time.as_secs()));
    let mut text = format!(
        "{HEAD}\n`cargo lab experiments` writes this page; each experiment had {each}:\n\n"
    );
    for line in machine::lines().into_iter().chain(load) {
        let _ = writeln!(text, "- {line}");
    }
    // What this machine is, without that of a single plan.
    let facts = setting(&Batches::default());
    for (label, value) in facts.iter().filter(|(label, _)| KEPT.contains(label)) {
        let _ = writeln!(text, "- {label}: {value}");
    }
    for one in all {
        section(&mut text, one);
    }
    text
}

/// The facts that are not in the first lines.
const KEPT: [&str; 3] = ["BPF JIT", "JIT harden", "clock"];

fn section(text: &mut String, one: &Measured) {
    let Measured { experiment, published, aggregates, rounds, elapsed } = one;
    let _ = writeln!(text, "\n## {}\n\nMeasured: {}.", experiment.name(), experiment.about());
    let original = originals::ALL.iter().find(|original| original.experiment == *experiment);
    if let Some(original) = original {
        let _ = writeln!(text, "Published: {}", original.source);
    }
    let _ = writeln!(text, "Here: {rounds} rounds in {:.0} s.", elapsed.as_secs_f64());
    for own in &published.tables {
        let figures = original
            .and_then(|original| original.tables.iter().find(|figures| figures.key == own.key));
        let _ = write!(text, "\n{}:\n\n{}", own.title, beside(own, figures).markdown());
    }
    for plot in &published.plots {
        let _ = write!(text, "\n{}, {}:\n\n{}", plot.title, plot.unit, of_plot(plot).markdown());
    }
    if !aggregates.is_empty() {
        let _ = write!(
            text,
            "\nChange of the mean overhead:\n\n{}",
            of_aggregates(aggregates).markdown()
        );
    }
    if let Some(original) = original {
        let _ = writeln!(text, "\n{}", original.differences);
    }
    if !published.notes.is_empty() {
        text.push('\n');
    }
    for note in &published.notes {
        let _ = writeln!(text, "- {note}");
    }
}

/// Our table, with the published figures beside or below ours.
fn beside(own: &PublishedTable, figures: Option<&Figures>) -> Table {
    let columns = figures.map_or(&[][..], |figures| figures.columns);
    let titles = own.columns.iter().map(|column| column.title.clone());
    let others = columns.iter().map(|title| format!("published: {title}"));
    let mut table = Table::new([String::new()].into_iter().chain(titles).chain(others));
    for row in &own.rows {
        let values = own.cells(row);
        let others = figures
            .filter(|_| !columns.is_empty())
            .and_then(|figures| figures.rows.iter().find(|(label, _)| *label == row.label));
        let others = others.into_iter().flat_map(|(_, values)| values.iter().copied());
        let label = [row.label.clone()].into_iter();
        table.row(label.chain(values).chain(others.map(str::to_owned)));
    }
    for (label, values) in
        figures.filter(|_| columns.is_empty()).into_iter().flat_map(|one| one.rows)
    {
        table.row([*label].into_iter().chain(values.iter().copied()));
    }
    table
}

fn of_plot(plot: &BoxPlot) -> Table {
    let mut table = Table::new(["", "minimum", "quartile", "median", "quartile", "maximum"]);
    for (name, runs) in &plot.rows {
        let Some(five) = Summary::of_runs(runs) else { continue };
        let Summary { minimum, lower, median, upper, high } = five;
        let values = [minimum, lower, median, upper, high];
        let values = values.map(|value| format!("{value:.*}", plot.digits));
        table.row([name.clone()].into_iter().chain(values));
    }
    table
}

fn of_aggregates(all: &[Aggregate]) -> Table {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let mut table = Table::new([
        "",
        "instead of",
        "overhead over",
        "change",
        "95 %",
        "instructions, without the cache",
    ]);
    for one in all {
        let change = one.change.map_or("not resolved".to_owned(), |change| percent(change.median));
        let range = one.change.map_or(String::new(), |change| {
            format!("{} … {}", percent(change.low), percent(change.high))
        });
        let executed = one.executed_uncached.map_or(String::new(), percent);
        table.row([&one.after, &one.before, &one.base, &change, &range, &executed]);
    }
    table
}

#[cfg(test)]
mod tests {
    use callgate_experiments::published::{Column, PublishedRow};

    use super::*;

    fn own() -> PublishedTable {
        PublishedTable {
            key: "key",
            title: "title".to_owned(),
            columns: vec![Column { title: "ns".to_owned(), digits: 1 }],
            rows: ["a", "b"]
                .map(|label| PublishedRow { label: label.to_owned(), values: vec![Some(1.0)] })
                .to_vec(),
        }
    }

    #[test]
    fn published_figures_are_beside_the_row_with_their_label() {
        let figures = Figures { key: "key", columns: &["x"], rows: &[("b", &["7"])] };
        let text = beside(&own(), Some(&figures)).plain();
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows, [vec!["ns", "published:", "x"], vec!["a", "1.0"], vec!["b", "1.0", "7"]]);
    }

    #[test]
    fn published_rows_without_columns_are_below_ours() {
        let figures = Figures { key: "key", columns: &[], rows: &[("published", &["7"])] };
        let text = beside(&own(), Some(&figures)).plain();
        assert_eq!(
            text.lines().last().map(|line| line.split_whitespace().collect()),
            Some(vec!["published", "7"])
        );
    }
}
