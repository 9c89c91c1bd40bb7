//! The page.

use std::fmt::Write;
use std::time::Duration;

use callgate_experiments::published::{BoxPlot, PublishedTable};
use callgate_measure::stats::Summary;
use callgate_measure::{Batches, setting};

use super::measured::Measured;
use super::originals::{self, Figures};
use crate::machine;
use crate::table::Table;

const HEAD: &str = "\
# Published experiments

Measurements of seccomp filters that others have published, repeated with `cargo lab experiment NAME`: each published
table, ours beside it, and what differs and why. [experiments/README.md](../experiments/README.md) describes the experiments.
Compare figures of one run only: machines and kernels differ. An empty cell was not published, or could not be measured here;
notes say why. [published.md](published.md) lists all published measurements, also those that cannot be repeated.

A measured figure stands with its 95 % confidence interval, which is unknown after one round; published figures have none, because
none was published. The figures of a table agree with each other: the time without a filter is the median over the rounds, the time
under a filter is that plus the median of the differences in the same round, and every other figure (loops, shares, ratios) is
computed from these times. The interval is that of the same figure of each round, extended to the figure where it is outside.
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
    let Measured { experiment, published, rounds, elapsed, is_whole } = one;
    let _ = writeln!(text, "\n## {}\n\nMeasured: {}.", experiment.name(), experiment.about());
    let original = originals::ALL.iter().find(|original| original.experiment == *experiment);
    if let Some(original) = original {
        let _ = writeln!(text, "Published: {}", original.source);
    }
    let stopped = if *is_whole { "" } else { ", and then it was stopped" };
    let _ = writeln!(text, "Here: {rounds} rounds in {:.0} s{stopped}.", elapsed.as_secs_f64());
    for own in &published.tables {
        let figures = original
            .and_then(|original| original.tables.iter().find(|figures| figures.key == own.key));
        let _ = write!(text, "\n{}:\n\n{}", own.title, beside(own, figures).markdown());
    }
    for plot in &published.plots {
        let _ = write!(text, "\n{}, {}:\n\n{}", plot.title, plot.unit, of_plot(plot).markdown());
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
        let values = own.cells(row, "…");
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

#[cfg(test)]
mod tests {
    use callgate_experiments::published::{Column, Figure, PublishedRow};
    use callgate_measure::stats::Interval;

    use super::*;

    fn own() -> PublishedTable {
        let interval = Interval { median: 2.0, low: 1.0, high: 3.0 };
        PublishedTable {
            key: "key",
            title: "title".to_owned(),
            columns: vec![Column { title: "ns".to_owned(), digits: 1 }],
            rows: [Figure::Exact(1.0), Figure::Measured(interval)]
                .into_iter()
                .zip(["a", "b"])
                .map(|(value, label)| PublishedRow {
                    label: label.to_owned(),
                    values: vec![Some(value)],
                })
                .collect(),
        }
    }

    #[test]
    fn published_figures_are_beside_the_row_with_their_label() {
        let figures = Figures { key: "key", columns: &["x"], rows: &[("b", &["7"])] };
        let text = beside(&own(), Some(&figures)).plain();
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let with_interval = vec!["b", "2.0", "(1.0", "…", "3.0)", "7"];
        assert_eq!(rows, [vec!["ns", "published:", "x"], vec!["a", "1.0"], with_interval]);
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
