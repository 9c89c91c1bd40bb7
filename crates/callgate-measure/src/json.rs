//! A report as JSON, with stable keys.

use callgate_requests::json::Json;

use crate::measure::Samples;
use crate::report::{Aggregate, Executed, Report, Section};
use crate::stats::{Interval, Summary};

/// A report and facts about its samples, with stable keys.
pub fn report(report: &Report, samples: &Samples) -> Vec<(&'static str, Json)> {
    vec![
        ("title", report.title.as_str().into()),
        ("setting", setting(&report.setting)),
        ("rounds", samples.rounds().into()),
        ("outliers", samples.outliers().into()),
        ("sections", Json::array(report.sections.iter().map(section))),
        ("aggregates", Json::array(report.aggregates.iter().map(aggregate_json))),
        ("noisy", report.noisy.clone().into()),
        ("interrupted", report.interrupted.into()),
    ]
}

fn aggregate_json(one: &Aggregate) -> Json {
    Json::Object(vec![
        ("subject", one.after.as_str().into()),
        ("instead_of", one.before.as_str().into()),
        ("over", one.base.as_str().into()),
        ("change", one.change.map_or(Json::Null, interval)),
        ("executed_change", one.executed.map_or(Json::Null, Json::Float)),
        ("executed_uncached_change", one.executed_uncached.map_or(Json::Null, Json::Float)),
    ])
}

/// Facts as labels and values.
pub fn setting(facts: &[(&'static str, String)]) -> Json {
    Json::array(facts.iter().map(|(label, value)| {
        Json::Object(vec![("label", (*label).into()), ("value", value.as_str().into())])
    }))
}

fn section(section: &Section) -> Json {
    let rows = section.rows.iter().map(|row| {
        let Summary { minimum, lower, median, upper, high } = row.estimate.spread;
        Json::Object(vec![
            ("subject", row.name.as_str().into()),
            ("filters", row.filters.into()),
            ("insns", row.insns.into()),
            ("treatment", row.treatment.map(|treatment| treatment.name()).into()),
            ("denied", row.is_denied().into()),
            ("executed", row.executed.map_or(Json::Null, executed_json)),
            ("minimum_ns", row.estimate.minimum.into()),
            ("median_ns", row.estimate.median.into()),
            // The kernel skips a denied syscall: the difference is not an overhead.
            (
                "overhead_ns",
                match row.is_denied() {
                    true => Json::Null,
                    false => interval(row.estimate.overhead),
                },
            ),
            ("spread_ns", Json::array([minimum, lower, median, upper, high])),
        ])
    });
    Json::Object(vec![
        ("title", section.title.as_str().into()),
        ("rows", Json::array(rows)),
        ("noise_ns", interval(section.noise)),
    ])
}

fn executed_json(executed: Executed) -> Json {
    Json::Object(vec![("cached", executed.cached.into()), ("uncached", executed.uncached.into())])
}

/// A confidence interval.
pub fn interval(interval: Interval) -> Json {
    Json::Object(vec![
        ("median", interval.median.into()),
        ("low", interval.low.into()),
        ("high", interval.high.into()),
    ])
}
