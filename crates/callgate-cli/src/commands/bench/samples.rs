//! The file of `--samples`: a row per batch, as CSV (RFC 4180) or as lines of JSON.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use callgate_measure::report::Shown;
use callgate_measure::{Plan, Samples, samples};

use crate::output::NewFile;
use crate::report::Result;

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
    /// Writes the batches of a measurement.
    pub(super) fn of_batches(self, plan: &Plan, samples: &Samples, bodies: &[Shown]) -> Result<()> {
        let all = [("", plan, samples)].into_iter();
        let rows = samples::rows("bench", all, bodies);
        self.file.finish(samples::lines(self.is_csv, rows).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_selects_the_format() {
        let of = |name: &str| name.parse::<SamplesFile>().map(|file| file.is_csv);
        assert_eq!((of("a.csv"), of("a.CSV"), of("a.jsonl")), (Ok(true), Ok(true), Ok(false)));
        assert!(of("a.json").is_err() && of("csv").is_err());
    }
}
