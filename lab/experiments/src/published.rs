//! Results in the form and the units in which an experiment was published: tables, box plots of runs, and notes.

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

    /// The values of one of its rows as text, empty where there is none.
    pub fn cells<'t>(&'t self, row: &'t PublishedRow) -> impl Iterator<Item = String> + 't {
        row.values.iter().zip(&self.columns).map(|(value, column)| {
            value.map_or(String::new(), |value| format!("{value:.*}", column.digits))
        })
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
