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
    let rows = section.rows.iter().enumerate().map(|(at, row)| {
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
            // The first one is the baseline.
            ("remark", if at == 0 { Json::Null } else { remark(row.remark(section.noise)) }),
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

/// What is said beside a figure; null for nothing.
pub fn remark(remark: &'static str) -> Json {
    match remark {
        "" => Json::Null,
        remark => remark.into(),
    }
}

/// A confidence interval, whose bounds are null if they are not known.
pub fn interval(interval: Interval) -> Json {
    Json::Object(vec![
        ("median", interval.median.into()),
        ("low", interval.low.into()),
        ("high", interval.high.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Estimate;
    use crate::report::Row;
    use crate::subject::Treatment;

    #[test]
    fn overheads_have_their_remarks() {
        let spread = Summary { minimum: 1.0, lower: 1.0, median: 1.0, upper: 1.0, high: 1.0 };
        let row = |(low, high), treatment| {
            let overhead = Interval { median: f64::midpoint(low, high), low, high };
            let in_rounds = overhead;
            let estimate = Estimate { minimum: 1.0, median: 1.0, overhead, in_rounds, spread };
            let name = String::new();
            Row { name, filters: 1, insns: 1, treatment: Some(treatment), executed: None, estimate }
        };
        let rows = vec![
            row((0.0, 0.0), Treatment::Unfiltered),
            row((19.0, 21.0), Treatment::Allowed),
            row((10.0, 30.0), Treatment::Allowed),
            row((-1.0, 30.0), Treatment::Allowed),
            row((f64::NEG_INFINITY, f64::INFINITY), Treatment::Allowed),
            row((19.0, 21.0), Treatment::Denied),
        ];
        let noise = Interval { median: 0.0, low: -1.0, high: 1.0 };
        let text =
            section(&Section { title: String::new(), rows, noise, is_claimed: true }).to_string();
        let remarks = text.lines().filter_map(|line| line.trim().strip_prefix("\"remark\": "));
        let expected = [
            "null,",
            "null,",
            "\"rough\",",
            "\"not resolved\",",
            "\"not resolved\",",
            "\"denied\",",
        ];
        assert_eq!(remarks.collect::<Vec<_>>(), expected);
    }
}
