//! Values of options about results.

use clap::ValueEnum;

use crate::metrics::MetricsFormat;

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON with stable keys
    Json,
}

/// The format of results about denials, which monitoring collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DenialFormat {
    /// Text for people
    Text,
    /// JSON with stable keys
    Json,
    /// Counters in the text format of Prometheus
    Prometheus,
    /// Counters in JSON of OpenTelemetry (OTLP)
    Otlp,
}

impl DenialFormat {
    /// The format of metrics, or that of other results.
    pub(crate) fn metrics(self) -> Result<MetricsFormat, Format> {
        match self {
            DenialFormat::Text => Err(Format::Text),
            DenialFormat::Json => Err(Format::Json),
            DenialFormat::Prometheus => Ok(MetricsFormat::Prometheus),
            DenialFormat::Otlp => Ok(MetricsFormat::Otlp),
        }
    }
}

/// The format of results that people discuss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// Text for people
    Text,
    /// Markdown for pull requests
    Markdown,
    /// JSON with stable keys
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}
