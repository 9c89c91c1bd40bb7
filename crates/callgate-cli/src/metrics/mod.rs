//! Denials as metrics for monitoring: the text format of Prometheus, and OTLP in JSON.

mod metric;
mod otlp;
mod prometheus;
mod write;

pub(crate) use metric::Metric;
pub(crate) use write::{MetricsFormat, write};
