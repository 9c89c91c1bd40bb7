//! Writes a recording as JSON: one line per run and per syscall, in a fixed order.

use callgate_formats::layout::QuotedString;
use rustc_hash::FxHashMap;
use std::fmt::{self, Display, Write};

use super::header::VERSION;
use crate::recording::caveat::Caveat;
use crate::recording::evidence::Evidence;
use crate::recording::model::{Recording, SyscallStats};
use crate::recording::run::{Run, RunId};
use crate::recording::values::ArgValues;

impl Recording {
    /// The recording as [JSON](crate::recording#json-format), with a line break at the end.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) -> fmt::Result {
        write!(to, "{{\n  \"callgate\": \"recording\",\n  \"version\": {VERSION},\n  \"runs\": [")?;
        for (index, run) in self.runs().iter().enumerate() {
            to.write_str(if index > 0 { ",\n    " } else { "\n    " })?;
            write_run(to, run)?;
        }
        to.write_str("\n  ],\n  \"calls\": [")?;
        let places = RunPlaces::of(self.runs());
        let common = self.common_labels();
        for (index, (syscall, stats)) in self.syscalls().enumerate() {
            to.write_str(if index > 0 { ",\n    " } else { "\n    " })?;
            write!(to, "{{\"arch\": \"{}\", ", syscall.arch)?;
            if let Some(name) = syscall.name() {
                write!(to, "\"name\": \"{name}\", ")?;
            }
            write!(to, "\"nr\": {}, \"count\": {}", syscall.nr, stats.count())?;
            if stats.runs() != 1 {
                write!(to, ", \"runs\": {}", stats.runs())?;
            }
            if let Some(places) = places.of_runs(stats.seen()) {
                write!(to, ", \"only_in\": {}", List(places))?;
            }
            if self.runs().len() > 1 && !stats.common_labels().eq(common.iter()) {
                write!(to, ", \"common\": {}", Labels(stats.common_labels().collect()))?;
            }
            write_args(to, stats, &places)?;
            to.write_str("}")?;
        }
        to.write_str("\n  ]\n}\n")
    }
}

/// The places of runs in the list of runs.
struct RunPlaces(FxHashMap<u64, usize>);

impl RunPlaces {
    fn of(runs: &[Run]) -> RunPlaces {
        let mut places = FxHashMap::default();
        for (place, run) in runs.iter().enumerate() {
            if let Some(id) = run.id {
                places.entry(id.bits()).or_insert(place);
            }
        }
        RunPlaces(places)
    }

    /// The places of the runs of a piece of evidence, if they are known.
    fn of_runs(&self, seen: Evidence) -> Option<Vec<usize>> {
        let known = seen.known();
        let places = known.iter().map(|run| self.0.get(run).copied()).collect::<Option<Vec<_>>>();
        places.filter(|places| !places.is_empty())
    }
}

fn write_run(to: &mut String, run: &Run) -> fmt::Result {
    write!(to, "{{\"how\": \"{}\"", run.method.name())?;
    if !run.command.is_empty() {
        let words = run.command.iter().map(|word| QuotedString(word));
        write!(to, ", \"command\": {}", List(words.collect()))?;
    }
    if run.from_execve {
        to.write_str(", \"from\": \"execve\"")?;
    }
    for (key, number) in [
        ("processes", run.processes),
        ("threads", run.threads),
        ("lost", Some(run.lost)),
        ("status", run.status.map(u64::from)),
    ] {
        if let Some(number) = number {
            write!(to, ", \"{key}\": {number}")?;
        }
    }
    for (key, text) in [("kernel", &run.kernel), ("recorder", &run.callgate)] {
        if let Some(text) = text {
            write!(to, ", \"{key}\": {}", QuotedString(text))?;
        }
    }
    match run.id {
        Some(id @ RunId::Assigned(_)) => write!(to, ", \"id\": \"{id}\"")?,
        Some(id @ RunId::Digest(_)) => write!(to, ", \"digest\": \"{id}\"")?,
        None => {}
    }
    if !run.labels.is_empty() {
        let labels = run.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        write!(to, ", \"labels\": {}", Labels(labels.collect()))?;
    }
    if !run.caveats.is_empty() {
        write!(to, ", \"caveats\": {}", List(run.caveats.iter().map(CaveatJson).collect()))?;
    }
    to.write_str("}")
}

/// Labels as JSON.
struct Labels<'r>(Vec<(&'r str, &'r str)>);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (key, value)) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            write!(f, "{}: {}", QuotedString(key), QuotedString(value))?;
        }
        f.write_str("}")
    }
}

/// A caveat as JSON.
struct CaveatJson<'c>(&'c Caveat);

impl Display for CaveatJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caveat { id, effect, count, text } = self.0;
        write!(f, "{{\"id\": {}, \"effect\": \"{}\"", QuotedString(id), effect.name())?;
        if let Some(count) = count {
            write!(f, ", \"count\": {count}")?;
        }
        write!(f, ", \"text\": {}}}", QuotedString(text))
    }
}

fn write_args(to: &mut String, stats: &SyscallStats, places: &RunPlaces) -> fmt::Result {
    // Trailing arguments without a known value are omitted.
    let known = stats.args().iter().rposition(|values| values.observed() > 0);
    let Some(args) = known.and_then(|last| stats.args().get(..=last)) else { return Ok(()) };
    to.write_str(", \"args\": [")?;
    for (index, values) in args.iter().enumerate() {
        to.write_str(if index > 0 { ", " } else { "" })?;
        write_values(to, values, stats, places)?;
    }
    to.write_str("]")
}

fn write_values(
    to: &mut String,
    values: &ArgValues,
    stats: &SyscallStats,
    places: &RunPlaces,
) -> fmt::Result {
    match (values.all(), values.bounds()) {
        (_, None) => return to.write_str("null"),
        (Some(all), _) => {
            let all = all.iter().map(|value| Hex(*value));
            write!(to, "{{\"values\": {}", List(all.collect()))?;
            let runs: Vec<u64> = values.runs().map(|(_, runs)| runs).collect();
            if runs.iter().any(|runs| *runs != stats.runs()) {
                write!(to, ", \"seen_in\": {}", List(runs))?;
            }
            // A value in as many runs as the syscall is in the same runs.
            let all: Vec<Evidence> = values.seen().map(|(_, seen)| seen).collect();
            let implied = |seen: &Evidence| *seen == stats.seen() || seen.known().is_empty();
            if !all.iter().all(implied) {
                let lists = all.iter().map(|seen| RunList(places.of_runs(*seen)));
                write!(to, ", \"only_in\": {}", List(lists.collect()))?;
            }
        }
        (None, Some(bounds)) => write!(
            to,
            "{{\"min\": {}, \"max\": {}, \"ever\": {}, \"always\": {}",
            Hex(bounds.min),
            Hex(bounds.max),
            Hex(bounds.ever),
            Hex(bounds.always)
        )?,
    }
    if values.observed() != stats.count() {
        write!(to, ", \"observed\": {}", values.observed())?;
    }
    to.write_str("}")
}

/// A 64-bit value as a string: many JSON readers keep only 53 bits of a number.
struct Hex(u64);

impl Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{:#x}\"", self.0)
    }
}

/// A list of the places of runs, or null.
struct RunList(Option<Vec<usize>>);

impl Display for RunList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(places) => List(places.clone()).fmt(f),
            None => f.write_str("null"),
        }
    }
}

struct List<T>(Vec<T>);

impl<T: Display> Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            item.fmt(f)?;
        }
        f.write_str("]")
    }
}
