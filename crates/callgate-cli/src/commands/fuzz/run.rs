//! Searches, prints the report and decides the exit status.

use super::args::FuzzArgs;
use super::outcome::{FuzzOutcome, Omission};
use super::report as shown;
use super::search::search;
use crate::options::Format;
use crate::output;
use crate::report::{self, Failure, Result};

pub(crate) fn run(args: &FuzzArgs) -> Result<u8> {
    let outcome = search(args)?;
    let text = match args.format {
        Format::Text => shown::text(&outcome),
        Format::Json => shown::json(&outcome),
    };
    output::print(&text)?;
    status(&outcome)
}

/// The exit status; an error if the search was incomplete.
pub(super) fn status(outcome: &FuzzOutcome) -> Result<u8> {
    if !outcome.report.agrees() {
        return Ok(1);
    }
    if let Some(Omission { name, help, .. }) =
        outcome.omissions.iter().find(|omission| omission.is_error)
    {
        let message = match outcome.report.comparisons.as_slice() {
            [] => "nothing was compared; see the report".to_owned(),
            _ => format!("{name} was not compared; see the report"),
        };
        return Err(Failure::new(message).help(help.as_str()).multiline());
    }
    let help = "random syscalls may reach the rest: increase --time";
    for coverage in outcome.report.coverage.iter().filter(|one| !one.is_complete()) {
        let why = coverage.why.map_or_else(String::new, |why| format!(": {why}"));
        let message = format!(
            "parts of \"{}\" were neither executed nor proved unreachable{why}",
            coverage.name
        );
        if outcome.other.is_none() {
            return Err(Failure::new(message).help(help));
        }
        report::warn(message, help);
    }
    Ok(0)
}
