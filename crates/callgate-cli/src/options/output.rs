//! Values of options about results.

use clap::ValueEnum;

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON with stable keys
    Json,
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
