//! The result of a workload as text and as JSON.

use std::fmt::Write;

use callgate_bpf::printable::visible;
use callgate_measure::json::{interval, setting};
use callgate_measure::samples::{AGAIN, SampleRow};
use callgate_measure::stats::Interval;
use callgate_measure::text::{HEADING, NAME, shortened};
use callgate_requests::json::Json;

use super::report::{Report, SHARES};
use super::results::Runs;
use super::rounds::Plan;

/// The version of the schema, lab/schemas/measurements.json. It is incremented when keys are added or change their meaning.
const VERSION: u32 = 1;

/// The tables.
pub fn text(report: &Report<'_>) -> String {
    let runs = report.runs;
    let mut text = format!("{HEADING}{}{HEADING:#}\n", report.title());
    for (label, value) in &report.setting {
        let _ = writeln!(text, "  {label:<12}{}", visible(value));
    }
    for (number, measure) in runs.measures().iter().enumerate() {
        let _ = writeln!(text, "\n{HEADING}{}, {}{HEADING:#}", measure.name, measure.unit);
        let _ = writeln!(
            text,
            "  {:<NAME$} {:>12}{:>10}{:>9}  95 % interval",
            "", "instructions", "median", "ratio"
        );
        for (at, (name, insns, own)) in report.rows(number).into_iter().enumerate() {
            let insns = insns.map_or(String::new(), |insns| insns.to_string());
            let _ =
                write!(text, "  {:<NAME$} {insns:>12}{:>10.0}", shortened(name), own.throughput);
            if at > 0 {
                let _ = write!(text, "{:>9.3}  {}", own.ratio.median, between(own.ratio));
            }
            text.push('\n');
        }
    }
    for gain in report.gains() {
        let _ = writeln!(
            text,
            "\n{:.3} times ({}): {}, {}\n  over {}",
            gain.ratio.median,
            between(gain.ratio),
            gain.measure,
            visible(gain.variant),
            visible(gain.over)
        );
    }
    if !report.shares.is_empty() {
        let _ = writeln!(
            text,
            "\n{HEADING}{SHARES}{HEADING:#}\n  {:<NAME$} {:>9}  {:<18}{:>9}  95 % interval",
            "percent", "computed", "95 % interval", "measured"
        );
    }
    for (name, computed, measured) in report.shares() {
        let _ = writeln!(
            text,
            "  {:<NAME$} {:>9.2}  {:<18}{:>9.2}  {}",
            shortened(name),
            computed.median,
            computed.bounds(2, ".."),
            measured.median,
            measured.bounds(2, "..")
        );
    }
    text
}

fn between(interval: Interval) -> String {
    interval.bounds(3, "..")
}

/// Everything, with stable keys.
pub fn json(report: &Report<'_>) -> String {
    let runs = report.runs;
    let measures = runs.measures().iter().enumerate().map(|(number, measure)| {
        let rows = report.rows(number).into_iter().filter_map(|(name, insns, own)| {
            Some(Json::Object(vec![
                ("variant", name.into()),
                ("insns", insns?.into()),
                ("throughput", own.throughput.into()),
                ("ratio", interval(own.ratio)),
            ]))
        });
        let noise = runs.noise(number).map_or(Json::Null, |noise| interval(noise.ratio));
        Json::Object(vec![
            ("measure", measure.name.into()),
            ("unit", measure.unit.as_str().into()),
            ("rows", Json::array(rows)),
            ("noise", noise),
        ])
    });
    let gains = report.gains().map(|gain| {
        Json::Object(vec![
            ("measure", gain.measure.into()),
            ("variant", gain.variant.into()),
            ("over", gain.over.into()),
            ("ratio", interval(gain.ratio)),
        ])
    });
    let shares = report.shares().map(|(name, computed, measured)| {
        Json::Object(vec![
            ("variant", name.into()),
            ("computed_percent", interval(computed)),
            ("measured_percent", interval(measured)),
        ])
    });
    let value = Json::Object(vec![
        ("callgate", "lab throughput".into()),
        ("version", VERSION.into()),
        ("workload", report.workload.name().into()),
        ("setting", setting(&report.setting)),
        ("rounds", runs.rounds().into()),
        ("measures", Json::array(measures)),
        ("comparisons", Json::array(gains)),
        ("shares", Json::array(shares)),
        ("noisy", report.noisy.into()),
        ("interrupted", runs.interrupted.into()),
    ]);
    format!("{value}\n")
}

/// Each run as a row.
pub fn sample_rows<'r>(
    name: &'r str,
    plan: &'r Plan,
    runs: &'r Runs,
) -> impl Iterator<Item = SampleRow> + 'r {
    runs.samples().map(move |one| {
        let variant = plan.variants.get(one.variant).map_or(AGAIN, |variant| &variant.name);
        let measure = &runs.measures()[one.measure];
        vec![
            ("workload", Json::from(name)),
            ("round", (one.round + 1).into()),
            ("variant", variant.into()),
            ("measure", measure.name.into()),
            ("value", one.value.into()),
            ("unit", measure.unit.as_str().into()),
        ]
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::definition::Workload;
    use super::super::report::VariantShare;
    use super::super::results::Measure;
    use super::super::rounds::Variant;
    use super::*;

    /// What is printed for rounds with these throughputs, of no filter, an empty one, and no filter again.
    fn printed(rounds: &[[f64; 3]], shares: &[VariantShare]) -> (String, String) {
        let plan = Plan {
            variants: vec![Variant::none(), Variant::empty()],
            run: Duration::from_secs(1),
            load: None,
            threads: None,
            ready: Duration::from_secs(1),
            min_rounds: 1,
            max_rounds: 1,
            time: Duration::from_secs(1),
            precision: 0.0,
            server_cpu: None,
            client_cpu: None,
            seed: 1,
        };
        let of = |variant: usize| vec![rounds.iter().map(|round| round[variant]).collect()];
        let runs = Runs {
            values: (0..3).map(of).collect(),
            measures: vec![Measure { name: "all", unit: "requests/s of CPU time".to_owned() }],
            rounds: rounds.len(),
            interrupted: false,
            elapsed: Duration::ZERO,
        };
        let report = Report {
            workload: &Workload::ALL[0],
            setting: Vec::new(),
            plan: &plan,
            runs: &runs,
            pairs: &[(0, 1)],
            shares,
            noisy: None,
        };
        let html = report.page(&[]);
        (text(&report), json(&report) + &html)
    }

    fn line<'t>(text: &'t str, start: &str) -> &'t str {
        text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default()
    }

    #[test]
    fn after_one_round_no_interval_is_known() {
        let (text, others) = printed(&[[1000.0, 1067.0, 1000.0]], &[]);
        assert!(line(&text, "empty filter").ends_with("1.067  unknown"), "{text}");
        assert!(line(&text, "no filter again").ends_with("1.000  unknown"), "{text}");
        assert!(line(&text, "1.067 times").contains("(unknown)"), "{text}");
        assert!(others.contains("<td>unknown</td>") && !others.contains("1.067…"), "{others}");
        assert!(others.contains("\"low\": null"), "{others}");
        let (text, _) = printed(&[[1000.0, 1067.0, 1000.0], [1000.0, 1060.0, 1000.0]], &[]);
        assert!(!text.contains("unknown"), "{text}");
    }

    #[test]
    fn computed_shares_are_beside_measured_ones() {
        let computed = Interval { median: 4.5, low: 4.0, high: 5.0 };
        let shares = [VariantShare { variant: 1, computed }];
        let rounds = [[1000.0, 950.0, 1000.0]; 8];
        let (text, _) = printed(&rounds, &shares);
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last.join(" "), "empty filter 4.50 4.00 .. 5.00 5.00 5.00 .. 5.00");
    }
}
