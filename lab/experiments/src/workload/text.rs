//! The result of a workload as text and as JSON.

use std::fmt::Write;

use callgate_bpf::printable::visible;
use callgate_measure::json::{interval, setting};
use callgate_measure::samples::{AGAIN, SampleRow};
use callgate_measure::stats::Interval;
use callgate_measure::text::{HEADING, NAME, shortened};
use callgate_requests::json::Json;

use super::report::Report;
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
    let value = Json::Object(vec![
        ("callgate", "lab throughput".into()),
        ("version", VERSION.into()),
        ("workload", report.workload.name().into()),
        ("setting", setting(&report.setting)),
        ("rounds", runs.rounds().into()),
        ("measures", Json::array(measures)),
        ("comparisons", Json::array(gains)),
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
