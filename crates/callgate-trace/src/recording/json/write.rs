//! Writes a recording as JSON: one line per run and per syscall, in a fixed order.

use callgate_formats::layout::QuotedString;
use rustc_hash::FxHashMap;
use std::fmt::{self, Display, Write};

use super::entry::VERSION;
use crate::recording::evidence::Evidence;
use crate::recording::model::{Recording, SyscallId, SyscallStats};
use crate::recording::run::{Caveat, Run, RunId};
use crate::recording::values::ArgValues;

impl Recording {
    /// The recording as [JSON](crate::recording#json-format), with a line break at the end.
    pub fn to_json(&self) -> String {
        let (places, common) = (RunPlaces::of(self.runs()), self.common_labels());
        let syscall = |(syscall, stats): (SyscallId, &SyscallStats)| {
            let is_merged = self.runs().len() > 1;
            let has_own_labels = is_merged && !stats.common_labels().eq(common.iter());
            Object::default()
                .add("arch", QuotedString(syscall.arch.name()))
                .add_some("name", syscall.name().map(QuotedString))
                .add("nr", syscall.nr)
                .add("count", stats.count())
                .add_some("runs", Some(stats.runs()).filter(|runs| *runs != 1))
                .add_some("only_in", places.of_runs(stats.seen()))
                .add_some("common", has_own_labels.then(|| labels(stats.common_labels())))
                .add_some("args", args(stats, &places))
        };
        let mut text =
            format!("{{\n  \"callgate\": \"recording\",\n  \"version\": {VERSION},\n  \"runs\": [");
        join(&mut text, self.runs().iter().map(run), "\n    ", ",\n    ");
        text.push_str("\n  ],\n  \"calls\": [");
        join(&mut text, self.syscalls().map(syscall), "\n    ", ",\n    ");
        text.push_str("\n  ]\n}\n");
        text
    }
}

/// Adds the items, `first` before the first one and `other` before each other one.
fn join(text: &mut String, items: impl Iterator<Item: Display>, first: &str, other: &str) {
    let mut before = first;
    for item in items {
        // Writing to a String cannot fail.
        let _ = write!(text, "{before}{item}");
        before = other;
    }
}

fn list(items: impl Iterator<Item: Display>) -> String {
    let mut text = "[".to_owned();
    join(&mut text, items, "", ", ");
    text.push(']');
    text
}

/// The members of an object.
#[derive(Default)]
struct Object(String);

impl Object {
    fn add(mut self, key: &str, value: impl Display) -> Object {
        let before = if self.0.is_empty() { "" } else { ", " };
        let _ = write!(self.0, "{before}{}: {value}", QuotedString(key));
        self
    }

    /// Adds a value if there is one.
    fn add_some(self, key: &str, value: Option<impl Display>) -> Object {
        match value {
            Some(value) => self.add(key, value),
            None => self,
        }
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.0)
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

    /// The list of the places of these runs, if they are known.
    fn of_runs(&self, seen: Evidence) -> Option<String> {
        let known = seen.known();
        let places = known.iter().map(|run| self.0.get(run)).collect::<Option<Vec<_>>>()?;
        (!places.is_empty()).then(|| list(places.into_iter()))
    }
}

fn run(run: &Run) -> Object {
    let is_assigned = matches!(run.id, Some(RunId::Assigned(_)));
    let id = run.id.map(|id| format!("\"{id}\""));
    let object = Object::default()
        .add("how", QuotedString(run.method.name()))
        .add_some("command", some_list(&run.command, |word| QuotedString(word)))
        .add_some("from", run.from_execve.then_some("\"execve\""))
        .add_some("processes", run.processes)
        .add_some("threads", run.threads)
        .add("lost", run.lost)
        .add_some("status", run.status)
        .add_some("kernel", run.kernel.as_deref().map(QuotedString))
        .add_some("recorder", run.callgate.as_deref().map(QuotedString))
        .add_some(if is_assigned { "id" } else { "digest" }, id);
    let of_run = run.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    object
        .add_some("labels", (!run.labels.is_empty()).then(|| labels(of_run)))
        .add_some("caveats", some_list(&run.caveats, caveat))
}

/// A list unless it is empty.
fn some_list<'i, T, D: Display>(items: &'i [T], item: impl Fn(&'i T) -> D) -> Option<String> {
    (!items.is_empty()).then(|| list(items.iter().map(item)))
}

fn labels<'r>(labels: impl Iterator<Item = (&'r str, &'r str)>) -> Object {
    labels.fold(Object::default(), |object, (key, value)| object.add(key, QuotedString(value)))
}

fn caveat(Caveat { id, effect, count, text }: &Caveat) -> Object {
    Object::default()
        .add("id", QuotedString(id))
        .add("effect", QuotedString(effect.name()))
        .add_some("count", *count)
        .add("text", QuotedString(text))
}

/// The values of the arguments; trailing ones without a known value are omitted.
fn args(stats: &SyscallStats, places: &RunPlaces) -> Option<String> {
    let last = stats.args().iter().rposition(|values| values.observed() > 0)?;
    let values = stats.args().iter().take(last + 1);
    Some(list(values.map(|one| or_null(values_of_arg(one, stats, places)))))
}

fn values_of_arg(values: &ArgValues, stats: &SyscallStats, places: &RunPlaces) -> Option<Object> {
    let bounds = values.bounds()?;
    let object = match values.all() {
        Some(all) => {
            let seen: Vec<Evidence> = values.seen().map(|(_, seen)| seen).collect();
            let differs = seen.iter().any(|seen| seen.runs() != stats.runs());
            // A value in as many runs as the syscall is in the same runs.
            let implied = |seen: &Evidence| *seen == stats.seen() || seen.known().is_empty();
            let is_implied = seen.iter().all(implied);
            let only_in = || list(seen.iter().map(|seen| or_null(places.of_runs(*seen))));
            Object::default()
                .add("values", list(all.iter().map(|value| hex(*value))))
                .add_some("seen_in", differs.then(|| list(seen.iter().map(Evidence::runs))))
                .add_some("only_in", (!is_implied).then(only_in))
        }
        None => Object::default()
            .add("min", hex(bounds.min))
            .add("max", hex(bounds.max))
            .add("ever", hex(bounds.ever))
            .add("always", hex(bounds.always)),
    };
    let observed = values.observed();
    Some(object.add_some("observed", (observed != stats.count()).then_some(observed)))
}

/// A 64-bit value as a string: many JSON readers keep only 53 bits of a number.
fn hex(value: u64) -> String {
    format!("\"{value:#x}\"")
}

fn or_null(value: Option<impl Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}
