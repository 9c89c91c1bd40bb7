//! `callgate check --baseline`: what changed between the recordings of two versions.

use std::collections::BTreeSet;
use std::ffi::OsString;

use callgate_trace::changes::changes;
use callgate_trace::generate::MIN_PER_VALUE;
use callgate_trace::recording::{Effect, Recording, RunId};

use super::changed::Comparison;
use crate::options::Format;
use crate::output;
use crate::recordings::{RecordingOptions, read_merged};
use crate::report::{self, Result};
use crate::text::counted;

/// Compares recordings with those of an old version; 1 if the new version does something new.
pub(super) fn run(
    old: &[OsString],
    new: &[OsString],
    options: RecordingOptions,
    format: Format,
) -> Result<u8> {
    let read = |files| read_merged(files, options, &|_| Ok(true)).map(|merged| merged.recording);
    let (old, new) = (read(old)?, read(new)?);
    warn_about(
        &old,
        "the old recordings",
        "what they miss seems new; record the old version again",
    );
    warn_about(
        &new,
        "the new recordings",
        "what they miss seems to have disappeared; record again",
    );
    warn_about_sides(&old, &new);
    let comparison = Comparison { changes: changes(&old, &new), new: &new };
    warn_about_few_runs(comparison.changes.old.runs, comparison.changes.new_side.runs);
    output::print(&match format {
        Format::Text => comparison.text(),
        Format::Json => comparison.json(),
    })?;
    Ok(u8::from(!comparison.changes.new.is_empty()))
}

/// Warns about caveats because of which a side lacks syscalls.
fn warn_about(recording: &Recording, name: &str, help: &str) {
    let missing = |effect| matches!(effect, Effect::Incomplete | Effect::Excerpt);
    for caveat in recording.caveats().into_iter().filter(|caveat| missing(caveat.effect)) {
        report::warn_about(name, caveat.text, help);
    }
}

/// Warns if a side has so few runs that they may lack what the program does only sometimes: fewer than a limit of an argument needs.
fn warn_about_few_runs(old: u64, new: u64) {
    let few = |runs: u64| (runs < MIN_PER_VALUE).then(|| counted(runs, "run"));
    let (which, seems) = match (few(old), few(new)) {
        (None, None) => return,
        (Some(old), None) => (format!("the baseline has only {old}"), "seems new"),
        (None, Some(new)) => {
            (format!("the new version has only {new}"), "is missed, or seems to have disappeared")
        }
        (Some(old), Some(new)) => (
            format!("the baseline has only {old}, the new version {new}"),
            "seems new, or to have disappeared",
        ),
    };
    report::warn(
        format!("{which}: what the program does only sometimes {seems}"),
        format!("record at least {MIN_PER_VALUE} runs of each version, with different inputs"),
    );
}

/// Warns if both sides cannot be compared.
fn warn_about_sides(old: &Recording, new: &Recording) {
    let assigned = |recording: &Recording| -> BTreeSet<RunId> {
        let ids = recording.runs().iter().filter_map(|run| run.id);
        ids.filter(|id| matches!(id, RunId::Assigned(_))).collect()
    };
    let shared = assigned(old).intersection(&assigned(new)).count() as u64;
    if shared > 0 {
        report::warn(
            format!("{} in both the old and the new recordings", is_or_are(shared)),
            "give the recordings of one version with --baseline, those of the other without",
        );
    }
    let arches = |recording: &Recording| -> BTreeSet<&str> {
        recording.syscalls().map(|(syscall, _)| syscall.arch.name()).collect()
    };
    let (old, new) = (arches(old), arches(new));
    if !old.is_empty() && !new.is_empty() && old.is_disjoint(&new) {
        let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
        report::warn(
            format!("the old recordings are of {}, the new ones of {}", list(old), list(new)),
            "syscalls of different architectures are different; compare recordings of the same one",
        );
    }
}

/// `1 run is`, `2 runs are`.
fn is_or_are(runs: u64) -> String {
    format!("{} {}", counted(runs, "run"), if runs == 1 { "is" } else { "are" })
}
