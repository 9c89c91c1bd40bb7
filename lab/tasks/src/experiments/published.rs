//! lab/results/published.md: every measurement of the publications in a table, beside ours.

use std::fmt::Write;

use callgate_experiments::published::{Figure, PublishedTable};

use super::measured::Measured;
use super::seeds::{Ours, PUBLICATIONS, Place, Publication, Row};
use crate::table::Table;

const HEAD: &str = "\
# Every published measurement, and ours

<!-- Written by `cargo lab experiments`. Do not edit. -->

Each measurement of five publications about the cost of seccomp and BPF filters: the author's set-up and figure, ours, and what
is different; or why it cannot be repeated here. A figure stands with its 95 % confidence interval; *not measured* says that the
machine could not measure it. [experiments.md](experiments.md) has the machine, all figures, and how they are estimated.
";

/// The page. Without results, our figures are links to the page that has them.
pub(super) fn page(all: &[Measured]) -> String {
    let mut text = HEAD.to_owned();
    for Publication { title, rows } in PUBLICATIONS {
        let mut table = Table::new(COLUMNS);
        for Row { theirs, here, difference, published, ours } in *rows {
            let ours = of_ours(ours, all);
            table.row([*theirs, *here, *difference, *published, &ours]);
        }
        let _ = write!(text, "\n## {title}\n\n{}", table.prose());
    }
    text
}

const COLUMNS: [&str; 5] = ["published set-up", "here", "difference", "published", "ours"];

fn of_ours(ours: &Ours, all: &[Measured]) -> String {
    let (experiment, places) = match ours {
        Ours::On(page) => {
            let name = page.split('#').next().unwrap_or(page);
            return format!("[{name}]({page})");
        }
        Ours::Not(why) => return format!("none: {why}"),
        Ours::Of(experiment, places) => (experiment, places),
    };
    match all.iter().find(|one| one.experiment == *experiment) {
        None => format!("[experiments.md](experiments.md#{})", experiment.name()),
        Some(one) => {
            let figure = |place: &Place| figure(&one.published.tables, place);
            places.iter().map(figure).collect::<Vec<_>>().join("; ")
        }
    }
}

fn figure(tables: &[PublishedTable], place: &Place) -> String {
    let Place { label, table, row, column, unit } = place;
    let found = tables.iter().find(|own| own.key == *table).and_then(|own| own.find(row, column));
    match found {
        Some((figure @ Figure::NotResolved, _)) => format!("{label}: {}", figure.text(0, "")),
        Some((figure, digits)) => format!("{label}: {} {unit}", figure.text(digits, "…")),
        None => format!("{label}: not measured"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use callgate_experiments::experiment::Experiment;
    use callgate_experiments::published::{Column, Published, PublishedRow};
    use callgate_measure::stats::Interval;
    use callgate_tasks::workspace;

    use super::*;

    fn getpid() -> Measured {
        let interval = Interval { median: 171.61, low: 170.0, high: 173.5 };
        let row = |(label, value): (&str, Figure)| PublishedRow {
            label: label.to_owned(),
            values: vec![Some(value)],
        };
        let rows =
            [("native", Figure::Measured(interval)), ("RET_ALLOW 1 filter", Figure::NotResolved)];
        let table = PublishedTable {
            key: "getpid",
            title: "getpid".to_owned(),
            columns: vec![Column { title: "JIT on".to_owned(), digits: 1 }],
            rows: rows.map(row).to_vec(),
        };
        Measured {
            experiment: Experiment::Getpid,
            published: Published { tables: vec![table], ..Published::default() },
            rounds: 9,
            elapsed: Duration::from_secs(1),
            is_whole: true,
        }
    }

    #[test]
    fn our_figures_stand_with_their_intervals() {
        let page = page(&[getpid()]);
        let expected = "native: 171.6 (170.0 … 173.5) ns; one: not resolved; two: not measured";
        assert!(page.contains(expected), "{page}");
        assert!(page.contains("[experiments.md](experiments.md#condwait)"), "{page}");
    }

    #[test]
    fn every_publication_has_rows_with_reasons() {
        assert_eq!(PUBLICATIONS.len(), 5);
        for row in PUBLICATIONS.iter().flat_map(|one| one.rows) {
            let texts = [row.theirs, row.here, row.difference, row.published];
            assert!(
                texts.iter().all(|text| !text.is_empty() && !text.contains('|')),
                "{}",
                row.theirs
            );
            match row.ours {
                Ours::Of(_, places) => assert!(!places.is_empty(), "{}", row.theirs),
                Ours::On(page) => {
                    let name = page.split('#').next().unwrap();
                    let path = workspace().join("lab/results").join(name);
                    assert!(path.exists(), "{}", path.display());
                }
                Ours::Not(why) => assert!(!why.is_empty(), "{}", row.theirs),
            }
        }
    }

    /// Everything but our figures, which need a quiet machine.
    #[test]
    fn the_page_of_the_repository_has_these_rows() {
        let path = workspace().join("lab/results/published.md");
        let written = std::fs::read_to_string(&path).unwrap();
        let without_figures = |page: &str| {
            let cells = |line: &str| match line.strip_prefix("| ") {
                Some(row) => row.rsplitn(2, " | ").last().unwrap_or_default().to_owned(),
                None => line.to_owned(),
            };
            page.lines().map(cells).collect::<Vec<String>>()
        };
        let expected = without_figures(&page(&[]));
        assert_eq!(
            without_figures(&written),
            expected,
            "`cargo lab experiments --without-figures` writes it"
        );
    }
}
