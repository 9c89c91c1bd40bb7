//! Counters with labels, of which there are a bounded number.
//!
//! A monitoring system stores each combination of labels as a time series of its own. The names of programs come from
//! logs, so their number has no bound. Therefore at most [`MAX_SERIES`] are written: the largest ones, and one series for
//! the sum of all others, whose labels are [`OTHER`]. Sums over all series stay exact.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many series of a metric are written, including the one for all others.
pub(super) const MAX_SERIES: usize = 500;

/// How many characters of a label are written.
const MAX_LABEL: usize = 200;

/// The value of the labels of the series that has the sum of all that are not written.
pub(super) const OTHER: &str = "other";

/// A counter. All series have the same labels.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// The unit in braces, as OTLP writes what is counted.
    pub(super) unit: &'static str,
    pub(super) labels: &'static [&'static str],
    pub(super) series: BTreeMap<Vec<String>, u64>,
}

impl Metric {
    /// A counter without series. The name ends in `_total`.
    pub(crate) fn new(
        name: &'static str,
        help: &'static str,
        unit: &'static str,
        labels: &'static [&'static str],
    ) -> Metric {
        Metric { name, help, unit, labels, series: BTreeMap::new() }
    }

    /// Adds to the series with these values of the labels, in their order.
    pub(crate) fn add(&mut self, values: Vec<String>, count: u64) {
        let values = values.into_iter().map(|value| shortened(&value)).collect();
        let sum = self.series.entry(values).or_default();
        *sum = sum.saturating_add(count);
    }

    /// A counter without labels.
    pub(crate) fn total(
        name: &'static str,
        help: &'static str,
        unit: &'static str,
        count: u64,
    ) -> Metric {
        let mut metric = Metric::new(name, help, unit, &[]);
        metric.add(Vec::new(), count);
        metric
    }

    /// Keeps the largest series, and one with the sum of the others; how many these are.
    pub(super) fn limit(&mut self, most: usize) -> usize {
        if self.series.len() <= most {
            return 0;
        }
        let mut all: Vec<(Vec<String>, u64)> =
            std::mem::take(&mut self.series).into_iter().collect();
        // Stable: of equal counts, the first by name stay.
        all.sort_by_key(|(_, count)| Reverse(*count));
        let others = all.split_off(most.saturating_sub(1));
        self.series = all.into_iter().collect();
        let sum = others.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        self.add(vec![OTHER.to_owned(); self.labels.len()], sum);
        others.len()
    }
}

/// A label of bounded length.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_series_are_summed() {
        let mut metric = Metric::new("x_total", "x", "{x}", &["program", "syscall"]);
        for (program, count) in [("a", 1), ("b", 9), ("c", 2), ("d", 9), ("b", 1)] {
            metric.add(vec![program.to_owned(), "mount".to_owned()], count);
        }
        assert_eq!(metric.limit(4), 0);
        assert_eq!(metric.limit(3), 2);
        let series: Vec<(&str, u64)> =
            metric.series.iter().map(|(labels, count)| (labels[0].as_str(), *count)).collect();
        assert_eq!(series, [("b", 10), ("d", 9), ("other", 3)]);
        assert_eq!(metric.series.keys().last().unwrap(), &["other", "other"]);
    }

    #[test]
    fn labels_are_shortened_at_characters() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(200)).chars().count(), 200);
        assert_eq!(shortened(&"é".repeat(201)), "é".repeat(200) + "…");
    }
}
