//! The texts that are compared: the given files, then random ones.

use std::fs;

use callgate::Arch;

use super::counts::Counts;
use super::options::Options;
use super::outcome::Outcome;
use callgate_tasks::Result;

/// Compares the given files and random texts, and counts.
pub(crate) fn compare_all(
    options: &Options,
    counts: &mut Counts,
    mut random: impl FnMut() -> String,
    mut compare: impl FnMut(&str) -> Result<Outcome>,
) -> Result<()> {
    for file in &options.files {
        let fail = |error: String| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
        let outcome = compare(&text).map_err(fail)?;
        counts.add(outcome, &format!("{}\n{text}", file.display()));
    }
    for number in 0..options.number {
        let text = random();
        let outcome = compare(&text)
            .map_err(|error| format!("text {number} of seed {}: {error}\n{text}", options.seed))?;
        counts.add(outcome, &text);
    }
    Ok(())
}

/// As [`compare_all`] for this machine's architecture; prints the counts.
pub(crate) fn compare_on_this_machine(
    options: &Options,
    random: impl FnMut() -> String,
    mut compare: impl FnMut(Arch, &str) -> Result<Outcome>,
) -> Result<()> {
    let arch = Arch::native().ok_or("unsupported architecture of this machine")?;
    let mut counts = Counts::default();
    compare_all(options, &mut counts, random, |text| compare(arch, text))?;
    counts.report()
}
