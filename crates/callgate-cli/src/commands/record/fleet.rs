//! What a merged recording says about its runs: which syscalls were made under one label only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use callgate_requests::json::Json;
use callgate_requests::syscall;
use callgate_trace::recording::{Recording, SyscallId, SyscallStats};

use crate::output::wrap;
use crate::recordings::Merged;
use crate::text::{counted, printable};

/// A merged recording, and how many recordings were read, were known before, and could not be read.
pub(super) struct Fleet<'r> {
    all: &'r Recording,
    read: u64,
    repeated: u64,
    skipped: u64,
}

/// A label, and the syscalls that only runs with it made.
type Own<'r> = BTreeMap<(&'r str, &'r str), Vec<(SyscallId, &'r SyscallStats)>>;

impl<'r> Fleet<'r> {
    pub(super) fn of(merged: &'r Merged) -> Fleet<'r> {
        let Merged { recording: all, read, repeated, skipped } = merged;
        Fleet { all, read: *read, repeated: *repeated, skipped: *skipped }
    }

    /// The values of each label.
    fn labels(&self) -> BTreeMap<&'r str, BTreeSet<&'r str>> {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (key, value) in self.all.runs().iter().flat_map(|run| &run.labels) {
            values.entry(key).or_default().insert(value);
        }
        values
    }

    /// How many runs have no label with this key.
    fn without(&self, key: &str) -> usize {
        self.all.runs().iter().filter(|run| !run.labels.contains_key(key)).count()
    }

    /// The syscalls that only runs with a label made, for labels that not all runs have.
    fn own(&self) -> Own<'r> {
        let labels = self.labels();
        let differs =
            |(key, values): (&&str, &BTreeSet<&str>)| values.len() > 1 || self.without(key) > 0;
        let different: BTreeSet<&str> =
            labels.iter().filter(|label| differs(*label)).map(|(key, _)| *key).collect();
        let mut own = Own::new();
        for (syscall, stats) in self.all.syscalls() {
            for (key, value) in stats.common_labels() {
                if different.contains(key) {
                    own.entry((key, value)).or_default().push((syscall, stats));
                }
            }
        }
        own
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: &str| {
            let _ = write!(text, "{label:<16}");
            wrap(&mut text, value, 16, 16);
        };
        let mut merged = format!(
            "{}, {}, {}",
            counted(self.all.runs().len() as u64, "run"),
            counted(self.all.syscalls().len() as u64, "syscall"),
            counted(self.all.total(), "call")
        );
        for (count, why) in [(self.repeated, "given twice"), (self.skipped, "skipped")] {
            if count > 0 {
                merged += &format!("; {} {why}", counted(count, "recording"));
            }
        }
        line("merged", &merged);
        let labels = self.labels();
        let mut differ = false;
        for (key, values) in &labels {
            let without = self.without(key);
            differ |= values.len() > 1 || without > 0;
            let mut text = format!("{}: {}", printable(key), counted(values.len() as u64, "value"));
            if without > 0 {
                text += &format!(", and {} without it", counted(without as u64, "run"));
            }
            line("label", &text);
        }
        let own = self.own();
        for ((key, value), syscalls) in &own {
            let names: Vec<String> = syscalls.iter().map(|(id, stats)| name(*id, stats)).collect();
            let label = format!("{}={}", printable(key), printable(value));
            line("only with", &format!("{label}: {}", names.join(", ")));
        }
        if own.is_empty() && differ {
            line("only with", "no syscall was made under one label only");
        }
        text
    }

    pub(super) fn json(&self) -> String {
        let labels = self.labels().into_iter().map(|(key, values)| {
            Json::Object(vec![
                ("key", key.into()),
                ("values", values.len().into()),
                ("runs_without", self.without(key).into()),
            ])
        });
        let own = self.own().into_iter().map(|((key, value), syscalls)| {
            let calls = syscalls.into_iter().map(|(id, stats)| {
                Json::Object(vec![
                    ("arch", id.arch.name().into()),
                    ("call", id.name().into()),
                    ("nr", id.nr.into()),
                    ("count", stats.count().into()),
                    ("runs", stats.runs().into()),
                ])
            });
            Json::Object(vec![
                ("key", key.into()),
                ("value", value.into()),
                ("calls", Json::array(calls)),
            ])
        });
        let value = Json::Object(vec![
            ("recordings", self.read.into()),
            ("repeated", self.repeated.into()),
            ("skipped", self.skipped.into()),
            ("runs", self.all.runs().len().into()),
            ("different_calls", self.all.syscalls().len().into()),
            ("calls", self.all.total().into()),
            ("labels", Json::array(labels)),
            ("only_with", Json::array(own)),
        ]);
        format!("{value}\n")
    }
}

/// `ptrace (1 run)`.
fn name(id: SyscallId, stats: &SyscallStats) -> String {
    format!("{} ({})", syscall::name(Some(id.arch), id.nr), counted(stats.runs(), "run"))
}
