//! Writes metrics in a format.

use std::time::SystemTime;

use super::metric::{MAX_SERIES, Metric, OTHER};
use super::{otlp, prometheus};
use crate::report;

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    Prometheus,
    Otlp,
}

/// Metrics in a format; warns if not all series are written.
pub(crate) fn write(mut all: Vec<Metric>, format: MetricsFormat) -> String {
    for metric in &mut all {
        let others = metric.limit(MAX_SERIES);
        if others > 0 {
            let message = format!(
                "{} has more than {MAX_SERIES} series, the limit: the {others} smallest are one series with \
                 the labels \"{OTHER}\"",
                metric.name
            );
            report::warn(message, "--format json has all of them");
        }
    }
    match format {
        MetricsFormat::Prometheus => prometheus::text(&all),
        MetricsFormat::Otlp => otlp::json(&all, SystemTime::now()),
    }
}
