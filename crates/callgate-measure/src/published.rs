//! Results in the form and the units in which an experiment was published: tables, box plots of runs, and notes.

use crate::stats::{median, minimum, quantile};

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
    pub values: Vec<Option<f64>>,
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

    /// Adds a row.
    pub(crate) fn row(
        &mut self,
        label: impl Into<String>,
        values: impl IntoIterator<Item = Option<f64>>,
    ) {
        self.rows.push(PublishedRow { label: label.into(), values: values.into_iter().collect() });
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

/// The five values of a box plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiveNumbers {
    /// The smallest sample.
    pub minimum: f64,
    /// The first quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub upper: f64,
    /// The largest sample.
    pub maximum: f64,
}

impl FiveNumbers {
    /// The values for samples; `None` without samples.
    pub fn of(samples: &[f64]) -> Option<FiveNumbers> {
        Some(FiveNumbers {
            minimum: minimum(samples)?,
            lower: quantile(samples, 0.25)?,
            median: median(samples)?,
            upper: quantile(samples, 0.75)?,
            maximum: quantile(samples, 1.0)?,
        })
    }

    /// The box drawn in `width` characters for a scale from `low` to `high`: `|---[==|==]-----|`.
    pub fn drawn(&self, low: f64, high: f64, width: usize) -> String {
        let last = width.saturating_sub(1) as f64;
        let place = |value: f64| {
            let share = (value - low) / (high - low).max(f64::MIN_POSITIVE);
            (share.clamp(0.0, 1.0) * last).round() as usize
        };
        let [start, lower, middle, upper, end] =
            [self.minimum, self.lower, self.median, self.upper, self.maximum].map(place);
        let char_at = |at: usize| match at {
            at if at == middle => '|',
            at if at == lower => '[',
            at if at == upper => ']',
            at if at == start || at == end => '|',
            at if lower < at && at < upper => '=',
            at if start < at && at < end => '-',
            _ => ' ',
        };
        (0..width).map(char_at).collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_its_five_numbers_in_place() {
        let five = FiveNumbers::of(&[0.0, 10.0, 20.0, 30.0, 40.0]).unwrap();
        assert_eq!((five.minimum, five.lower, five.median), (0.0, 10.0, 20.0));
        assert_eq!((five.upper, five.maximum), (30.0, 40.0));
        assert_eq!(five.drawn(0.0, 40.0, 41), "|---------[=========|=========]---------|");
        assert_eq!(five.drawn(-40.0, 40.0, 17), "        |-[=|=]-|");
        assert_eq!(FiveNumbers::of(&[]), None);
    }

    #[test]
    fn equal_samples_are_one_mark() {
        let five = FiveNumbers::of(&[3.0; 4]).unwrap();
        assert_eq!(five.drawn(3.0, 3.0, 10), "|");
        assert_eq!(five.drawn(0.0, 6.0, 7), "   |");
    }
}
