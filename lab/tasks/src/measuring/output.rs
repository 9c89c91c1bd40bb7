//! Where results go: standard output, a page, and a file with every sample.

use std::io::Write;
use std::path::{Path, PathBuf};

use callgate_measure::samples::{SampleRow, lines};
use callgate_tasks::Result;
use callgate_tasks::files::write;

use crate::machine;

/// The file of `--samples` and its format.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SamplesFile {
    path: PathBuf,
    is_csv: bool,
}

impl SamplesFile {
    /// The ending of the path selects the format.
    pub(super) fn new(path: &str) -> Result<SamplesFile> {
        let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
        let is_csv = match ending {
            Some("csv") => true,
            Some("jsonl" | "ndjson") => false,
            _ => return Err(format!("--samples {path}: expected .csv, .jsonl or .ndjson")),
        };
        Ok(SamplesFile { path: PathBuf::from(path), is_csv })
    }

    pub(super) fn write(&self, rows: impl Iterator<Item = SampleRow>) -> Result<()> {
        write(&self.path, lines(self.is_csv, rows))
    }
}

/// Prints text; keeps styles only on a terminal.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())
}

/// Where a page is from: date, version and command line.
pub(super) fn origin() -> Vec<(&'static str, String)> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    vec![
        ("date", machine::today()),
        ("version", format!("callgate {}", env!("CARGO_PKG_VERSION"))),
        ("command", format!("cargo lab {}", words.join(" "))),
    ]
}
