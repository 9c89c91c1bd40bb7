//! The file of figures.

use std::collections::BTreeMap;

use callgate_tasks::Result;
use serde::Deserialize;

/// The file, relative to the root.
pub(super) const FILE: &str = "docs/figures.json";

/// What `code` is of a run whose code has changed since then.
pub(super) const OLDER: &str = "older";

/// All runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Registry {
    /// The machines, by the names that runs use.
    pub(super) machines: BTreeMap<String, String>,
    pub(super) runs: Vec<Run>,
}

/// Figures that one command has measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) machine: String,
    /// When: `2026-11-28`.
    pub(super) date: String,
    /// The spread of the figures, in words or as an interval; that they are counted exactly; or that it is not known.
    pub(super) spread: String,
    /// The files and directories with the measured code.
    pub(super) measures: Vec<String>,
    /// The hash of that code, or [`OLDER`].
    pub(super) code: String,
    pub(super) figures: Vec<Figure>,
    /// Per document, the phrases that quote the figures: `{NAME}`, or `{NAME/DIVISOR:DECIMALS}` for another unit.
    pub(super) quotes: BTreeMap<String, Vec<String>>,
}

/// A measured value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) name: String,
    /// The number as it was measured, with commas between thousands.
    pub(super) value: String,
    pub(super) unit: String,
    /// What it is.
    pub(super) what: String,
}

impl Registry {
    /// Reads the file.
    pub(super) fn parse(text: &str) -> Result<Registry> {
        let registry: Registry =
            serde_json::from_str(text).map_err(|why| format!("{FILE}: {why}"))?;
        for (index, run) in registry.runs.iter().enumerate() {
            let wrong = |what: String| Err(format!("{FILE}: {}: {what}", run.name));
            if registry.runs.iter().take(index).any(|other| other.name == run.name) {
                return wrong("two runs have this name".to_owned());
            }
            if !registry.machines.contains_key(&run.machine) {
                return wrong(format!("unknown machine {:?}; add it to \"machines\"", run.machine));
            }
            if !is_date(&run.date) {
                return wrong(format!("{:?} is not a date; write YYYY-MM-DD", run.date));
            }
            if run.spread.is_empty() {
                return wrong(
                    "the spread is missing; write that it is unknown, or \"exact\"".into(),
                );
            }
            if !is_code(&run.code) {
                return wrong(format!(
                    "\"code\" is {:?}, neither 16 hexadecimal digits nor {OLDER:?}; cargo xtask figures --measured {} \
                     sets it",
                    run.code, run.name
                ));
            }
            for (at, figure) in run.figures.iter().enumerate() {
                if run.figures.iter().take(at).any(|other| other.name == figure.name) {
                    return wrong(format!("two figures have the name {:?}", figure.name));
                }
                if figure.number().is_none() {
                    return wrong(format!("{:?} of {} is not a number", figure.value, figure.name));
                }
            }
        }
        Ok(registry)
    }
}

impl Run {
    /// Whether the measured code has changed since then.
    pub(super) fn is_older(&self) -> bool {
        self.code == OLDER
    }
}

impl Figure {
    /// The value as a number.
    pub(super) fn number(&self) -> Option<f64> {
        self.value.replace(',', "").parse().ok()
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

fn is_code(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text == OLDER || (text.len() == 16 && text.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: (&str, &str)) -> String {
        let text = r#"{"machines": {"m": "a machine"}, "runs": [{"name": "r", "command": "c", "machine": "m",
            "date": "2026-11-28", "spread": "exact", "measures": [], "code": "older",
            "figures": [{"name": "f", "value": "1,234.5", "unit": "ns", "what": "w"}], "quotes": {}}]}"#;
        assert!(text.contains(change.0));
        assert!(Registry::parse(text).is_ok());
        Registry::parse(&text.replace(change.0, change.1)).unwrap_err()
    }

    #[test]
    fn mistakes_are_errors() {
        for (change, message) in [
            (("\"machine\": \"m\"", "\"machine\": \"n\""), "unknown machine \"n\""),
            (("2026-11-28", "28 November"), "\"28 November\" is not a date"),
            (("\"exact\"", "\"\""), "the spread is missing"),
            (("older", "0123"), "--measured r sets it"),
            (("1,234.5", "about 2"), "\"about 2\" of f is not a number"),
            (("\"quotes\"", "\"quoted\""), "unknown field `quoted`"),
        ] {
            let error = error(change);
            assert!(error.starts_with("docs/figures.json: ") && error.contains(message), "{error}");
        }
    }
}
