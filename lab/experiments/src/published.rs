//! Results in the form and the units in which an experiment was published: tables, box plots of runs, and notes.

use callgate_measure::stats::Interval;

/// Tables, box plots and notes of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// The tables.
    pub tables: Vec<PublishedTable>,
    /// The box plots.
    pub plots: Vec<BoxPlot>,
    /// How the figures correspond to the published ones, and what was not measured and why.
    pub notes: Vec<String>,
}

/// A table of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// A stable name.
    pub key: &'static str,
    /// The title, with the unit.
    pub title: String,
    /// The columns after the first, which has the labels of the rows.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<PublishedRow>,
}

/// A column of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The title.
    pub title: String,
    /// The number of decimals.
    pub digits: usize,
}

/// A row of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    /// The label.
    pub label: String,
    /// A figure per column; `None` where there is none.
    pub values: Vec<Option<Figure>>,
}

/// A figure of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A measured figure and its 95 % confidence interval, which is unbounded where it is not known.
    Measured(Interval),
    /// A count or a computed figure, which no repetition changes.
    Exact(f64),
    /// The measurement does not tell it from 0.
    NotResolved,
}

impl From<Interval> for Figure {
    fn from(interval: Interval) -> Figure {
        Figure::Measured(interval)
    }
}

impl Figure {
    /// The figure; `None` if it is not resolved.
    pub fn value(self) -> Option<f64> {
        match self {
            Figure::Measured(interval) => Some(interval.median),
            Figure::Exact(value) => Some(value),
            Figure::NotResolved => None,
        }
    }

    /// Its interval; `None` if it has none.
    pub fn interval(self) -> Option<Interval> {
        match self {
            Figure::Measured(interval) => Some(interval),
            Figure::Exact(_) | Figure::NotResolved => None,
        }
    }

    /// The figure with this number of decimals, and its interval with `to` between the bounds: `1.2 (1.1 .. 1.4)`, or
    /// `1.2 (unknown)` after one round.
    pub fn text(self, digits: usize, to: &str) -> String {
        match self {
            Figure::Measured(interval) => {
                format!("{:.digits$} ({})", interval.median, interval.bounds(digits, to))
            }
            Figure::Exact(value) => format!("{value:.digits$}"),
            Figure::NotResolved => "not resolved".to_owned(),
        }
    }
}

impl PublishedTable {
    /// A table without rows.
    pub(crate) fn new(
        key: &'static str,
        title: impl Into<String>,
        columns: &[(&str, usize)],
    ) -> PublishedTable {
        let column = |(title, digits): &(&str, usize)| Column {
            title: (*title).to_owned(),
            digits: *digits,
        };
        let (title, columns) = (title.into(), columns.iter().map(column).collect());
        PublishedTable { key, title, columns, rows: Vec::new() }
    }

    /// The figures of one of its rows as text, empty where there is none, with `to` between the bounds of intervals.
    pub fn cells<'t>(
        &'t self,
        row: &'t PublishedRow,
        to: &'t str,
    ) -> impl Iterator<Item = String> + 't {
        row.values.iter().zip(&self.columns).map(move |(value, column)| {
            value.map_or(String::new(), |value| value.text(column.digits, to))
        })
    }

    /// The figure of a row and a column, given by their labels.
    pub fn find(&self, row: &str, column: &str) -> Option<(Figure, usize)> {
        let at = self.columns.iter().position(|own| own.title == column)?;
        let row = self.rows.iter().find(|own| own.label == row)?;
        Some(((*row.values.get(at)?)?, self.columns.get(at)?.digits))
    }

    /// Adds a row.
    pub(crate) fn row<F: Into<Figure>>(
        &mut self,
        label: impl Into<String>,
        values: impl IntoIterator<Item = Option<F>>,
    ) {
        let values = values.into_iter().map(|value| value.map(Into::into)).collect();
        self.rows.push(PublishedRow { label: label.into(), values });
    }
}

/// Box plots of the runs of several subjects, with one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxPlot {
    /// A stable name.
    pub key: &'static str,
    /// The title.
    pub title: String,
    /// The unit.
    pub unit: &'static str,
    /// The number of decimals.
    pub digits: usize,
    /// A subject and its samples, in the order in which they were taken.
    pub rows: Vec<(String, Vec<f64>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PublishedTable {
        let mut table = PublishedTable::new("key", "title", &[("ns", 1), ("loops", 0)]);
        let interval = Interval { median: 1.26, low: 1.14, high: f64::INFINITY };
        let known = Interval { high: 1.5, ..interval };
        table.row("known", [Some(Figure::from(known)), Some(Figure::Exact(12.0))]);
        table.row("unknown", [Some(Figure::from(interval)), None]);
        table.row("close", [None, Some(Figure::NotResolved)]);
        table
    }

    #[test]
    fn each_measured_figure_stands_with_its_interval() {
        let table = table();
        let cells = |row: usize| table.cells(&table.rows[row], "..").collect::<Vec<_>>();
        assert_eq!(cells(0), ["1.3 (1.1 .. 1.5)", "12"]);
        assert_eq!(cells(1), ["1.3 (unknown)", ""]);
        assert_eq!(cells(2), ["", "not resolved"]);
    }

    #[test]
    fn figures_are_found_by_their_labels() {
        let table = table();
        assert_eq!(table.find("known", "loops"), Some((Figure::Exact(12.0), 0)));
        for (row, column) in [("known", "ms"), ("close", "ns"), ("other", "ns")] {
            assert_eq!(table.find(row, column), None, "{row} {column}");
        }
    }
}
