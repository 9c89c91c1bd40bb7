//! The file of `--samples`: a row per batch, as CSV (RFC 4180) or as lines of JSON.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use callgate_measure::report::Shown;
use callgate_measure::workload::Runs;
use callgate_measure::{Plan, Samples, workload};
use callgate_requests::json::Json;

use crate::output::NewFile;
use crate::report::Result;

/// The name of the second measurement without a filter.
const AGAIN: &str = "no filter again";

/// The file and its format.
#[derive(Clone, Debug)]
pub(super) struct SamplesFile {
    path: PathBuf,
    is_csv: bool,
}

impl FromStr for SamplesFile {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<SamplesFile, String> {
        let path = PathBuf::from(text);
        let ending = Path::new(text).extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(SamplesFile { path, is_csv: true }),
            Some("jsonl" | "ndjson") => Ok(SamplesFile { path, is_csv: false }),
            _ => Err("expected a file that ends with .csv, .jsonl or .ndjson".to_owned()),
        }
    }
}

/// A file that can be written.
pub(super) struct PreparedSamples {
    file: NewFile,
    is_csv: bool,
}

impl SamplesFile {
    /// Checks that it can be written.
    pub(super) fn prepare(&self) -> Result<PreparedSamples> {
        Ok(PreparedSamples { file: NewFile::prepare(&self.path)?, is_csv: self.is_csv })
    }
}

impl PreparedSamples {
    /// Writes the batches of measurements, each under a condition with a name.
    pub(super) fn of_batches<'m>(
        self,
        experiment: &str,
        all: impl Iterator<Item = (&'m str, &'m Plan, &'m Samples)>,
        bodies: &[Shown],
    ) -> Result<()> {
        let rows = all.flat_map(|(condition, plan, samples)| {
            let mut batches: Vec<_> = samples.batch_times().collect();
            batches.sort_by_key(|one| one.round);
            batches.into_iter().map(move |one| {
                let subject = plan.subjects.get(one.subject).map_or(AGAIN, |subject| &subject.name);
                let call = bodies.get(one.body).map_or("", |body| &body.title);
                vec![
                    ("experiment", Json::from(experiment)),
                    ("condition", condition.into()),
                    ("round", (one.round + 1).into()),
                    ("subject", subject.into()),
                    ("call", call.into()),
                    ("batch", (one.batch + 1).into()),
                    ("nanoseconds", one.nanoseconds.into()),
                ]
            })
        });
        self.file.finish(lines(self.is_csv, rows).as_bytes())
    }

    /// Writes the runs of a workload.
    pub(super) fn of_runs(self, name: &str, plan: &workload::Plan, runs: &Runs) -> Result<()> {
        let rows = runs.samples().map(|one| {
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
        });
        self.file.finish(lines(self.is_csv, rows).as_bytes())
    }
}

fn lines(is_csv: bool, rows: impl Iterator<Item = Vec<(&'static str, Json)>>) -> String {
    let mut text = String::new();
    for row in rows {
        if is_csv && text.is_empty() {
            let keys: Vec<&str> = row.iter().map(|(key, _)| *key).collect();
            text += &format!("{}\r\n", keys.join(","));
        }
        for (at, (key, value)) in row.iter().enumerate() {
            let _ = match (is_csv, value) {
                (true, Json::Text(value)) => {
                    write!(text, "{}{}", if at > 0 { "," } else { "" }, field(value))
                }
                (true, value) => write!(text, "{}{value}", if at > 0 { "," } else { "" }),
                (false, value) => {
                    write!(text, "{}\"{key}\": {value}", if at > 0 { ", " } else { "{" })
                }
            };
        }
        text += if is_csv { "\r\n" } else { "}\n" };
    }
    text
}

/// A text as a field of CSV.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines_in_both_formats() {
        let row = || vec![("call", Json::from("f(1, \"\")")), ("nanoseconds", Json::Float(1.5))];
        let rows = || [row(), row()].into_iter();
        let line = "\"f(1, \"\"\"\")\",1.5\r\n";
        assert_eq!(lines(true, rows()), format!("call,nanoseconds\r\n{line}{line}"));
        let line = "{\"call\": \"f(1, \\\"\\\")\", \"nanoseconds\": 1.5}\n";
        assert_eq!(lines(false, rows()), format!("{line}{line}"));
    }

    #[test]
    fn the_ending_selects_the_format() {
        let of = |name: &str| name.parse::<SamplesFile>().map(|file| file.is_csv);
        assert_eq!((of("a.csv"), of("a.CSV"), of("a.jsonl")), (Ok(true), Ok(true), Ok(false)));
        assert!(of("a.json").is_err() && of("csv").is_err());
    }
}
