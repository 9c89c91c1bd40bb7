//! The time of each batch as rows, in CSV (RFC 4180) or in lines of JSON.

use std::fmt::Write;

use callgate_requests::json::Json;

use crate::measure::{Plan, Samples};
use crate::report::Shown;

/// The name of the second measurement without a filter.
pub const AGAIN: &str = "no filter again";

/// A row: keys and values.
pub type SampleRow = Vec<(&'static str, Json)>;

/// The batches of measurements, each under a condition with a name.
pub fn rows<'m>(
    experiment: &'m str,
    all: impl Iterator<Item = (&'m str, &'m Plan, &'m Samples)>,
    bodies: &'m [Shown],
) -> impl Iterator<Item = SampleRow> {
    all.flat_map(move |(condition, plan, samples)| {
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
    })
}

/// Rows as CSV, with a line of keys before them, or as lines of JSON.
pub fn lines(is_csv: bool, rows: impl Iterator<Item = SampleRow>) -> String {
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
}
