//! A measurement as text and as JSON.

use callgate_measure::report::Report;
use callgate_measure::{Samples, json, text};
use callgate_requests::json::Json;

/// The version of the schema, docs/schemas/bench.json. It is incremented when keys are added or change their meaning.
pub(super) const VERSION: u32 = 1;

/// The tables.
pub(super) fn as_text(report: &Report) -> String {
    text::text(report)
}

/// Everything, with stable keys.
pub(super) fn as_json(report: &Report, samples: &Samples) -> String {
    let mut members = vec![("callgate", "bench".into()), ("version", VERSION.into())];
    members.extend(json::report(report, samples));
    format!("{}\n", Json::Object(members))
}
