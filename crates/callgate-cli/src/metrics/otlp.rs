//! Metrics of OpenTelemetry: an `ExportMetricsServiceRequest` in the JSON encoding of OTLP 1.x, for `POST /v1/metrics` and the
//! file receiver of a collector.
//!
//! As that encoding requires, keys are in lowerCamelCase, enumerations are integers and 64-bit integers are strings. JSON
//! escapes control characters. Counters are cumulative since an unknown start.

use std::time::{SystemTime, UNIX_EPOCH};

use callgate_requests::json::Json;

use super::metric::Metric;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// OTLP counts in signed integers.
const MAX_VALUE: u64 = i64::MAX as u64;

pub(super) fn json(metrics: &[Metric], now: SystemTime) -> String {
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos()).to_string();
    let version = env!("CARGO_PKG_VERSION");
    let resource = vec![attribute("service.name", "callgate")];
    let scope = vec![("name", "callgate".into()), ("version", version.into())];
    let scope_metrics = Json::Object(vec![
        ("scope", Json::Object(scope)),
        ("metrics", Json::array(metrics.iter().map(|metric| metric_json(metric, &now)))),
    ]);
    let resource_metrics = Json::Object(vec![
        ("resource", Json::Object(vec![("attributes", Json::Array(resource))])),
        ("scopeMetrics", Json::Array(vec![scope_metrics])),
    ]);
    format!("{}\n", Json::Object(vec![("resourceMetrics", Json::Array(vec![resource_metrics]))]))
}

fn metric_json(metric: &Metric, now: &str) -> Json {
    let points = metric.series.iter().map(|(values, count)| {
        let attributes =
            metric.labels.iter().zip(values).map(|(key, value)| attribute(key, value.as_str()));
        Json::Object(vec![
            ("attributes", Json::array(attributes)),
            ("timeUnixNano", now.into()),
            ("asInt", (*count).min(MAX_VALUE).to_string().into()),
        ])
    });
    let sum = vec![
        ("aggregationTemporality", CUMULATIVE.into()),
        ("isMonotonic", true.into()),
        ("dataPoints", Json::array(points)),
    ];
    // OTLP names do not have the suffix; exporters to Prometheus add it.
    let name = metric.name.strip_suffix("_total").unwrap_or(metric.name).replacen('_', ".", 1);
    Json::Object(vec![
        ("name", name.into()),
        ("description", metric.help.into()),
        ("unit", metric.unit.into()),
        ("sum", Json::Object(sum)),
    ])
}

fn attribute(key: &str, value: &str) -> Json {
    Json::Object(vec![
        ("key", key.into()),
        ("value", Json::Object(vec![("stringValue", value.into())])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counters_are_sums_with_integers_as_strings() {
        let mut metric = Metric::new("callgate_denials_total", "Denials.", "{call}", &["program"]);
        metric.add(vec!["a\u{1b}\"\n".to_owned()], u64::MAX);
        let text = json(&[metric], UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001));
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        let metric = &parsed["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        assert_eq!(metric["name"], "callgate.denials");
        assert_eq!(metric["sum"]["aggregationTemporality"], 2);
        let point = &metric["sum"]["dataPoints"][0];
        assert_eq!(point["asInt"], i64::MAX.to_string());
        assert_eq!(point["timeUnixNano"], "1700000000000000001");
        assert_eq!(point["attributes"][0]["value"]["stringValue"], "a\u{1b}\"\n");
        assert!(!text.contains('\u{1b}'));
    }
}
