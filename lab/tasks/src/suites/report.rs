//! The table, on standard output or in `lab/results/unseen.md`.

use super::split::{SPLITS, Splits};
use crate::table::Table;
use callgate_tasks::files::{read, write};
use callgate_tasks::{Result, workspace};

const BEGIN: &str = "<!-- Written by `cargo lab suites --update`. Do not edit. -->\n";
const END: &str = "<!-- End of the written part. -->\n";

/// How many denied syscalls a row names.
const NAMED: usize = 3;

pub(super) struct Report {
    table: Table,
}

impl Report {
    pub(super) fn new() -> Report {
        let head = [
            "program",
            "runs",
            "syscalls",
            "denied something",
            "estimated",
            "at most",
            "denied nothing",
            "foretold",
            "denied most often",
        ];
        Report { table: Table::new(head) }
    }

    pub(super) fn add(&mut self, program: &str, runs: usize, splits: &Splits) {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let named = splits.denied.iter().take(NAMED);
        let denied: Vec<String> = named.map(|(name, _)| format!("`{name}`")).collect();
        self.table.row([
            program.to_owned(),
            runs.to_string(),
            splits.syscalls.to_string(),
            percent(splits.broken),
            percent(splits.estimate),
            percent(splits.high),
            format!("{} of {SPLITS}", splits.nothing),
            format!("{} of {SPLITS}", splits.foretold),
            denied.join(", "),
        ]);
    }

    pub(super) fn publish(&self, update: bool) -> Result<()> {
        let table = self.table.markdown();
        if !update {
            print!("{table}");
            return Ok(());
        }
        let path = workspace().join("lab/results/unseen.md");
        let text = String::from_utf8(read(&path)?).map_err(|error| error.to_string())?;
        let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
            let (_, after) = rest.split_once(END)?;
            Some((before, after))
        });
        let (before, after) = parts.ok_or("lab/results/unseen.md: missing lines for the table")?;
        write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))
    }
}
