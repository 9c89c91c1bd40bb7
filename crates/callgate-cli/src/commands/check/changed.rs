//! What changed between two versions, as text and as JSON.

use std::fmt::Write;

use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_requests::json::Json;
use callgate_requests::syscall;
use callgate_trace::changes::{Change, Changed, Changes, Side};
use callgate_trace::recording::Recording;

use crate::output::wrap;
use crate::text::{counted, grouped, printable};

/// Differences, and the recording in which the new syscalls are.
pub(super) struct Comparison<'r> {
    pub(super) changes: Changes,
    pub(super) new: &'r Recording,
}

/// The column in which the text about a syscall starts.
const COLUMN: usize = 24;

impl Comparison<'_> {
    pub(super) fn text(&self) -> String {
        let Changes { old, new_side, compared, too_few, new, disappeared } = &self.changes;
        let mut text = String::new();
        let of = |side: &Side, name: &str| {
            let syscalls = counted(side.syscalls as u64, "syscall");
            format!("{} with {syscalls}", counted(side.runs, &format!("{name} run")))
        };
        let summary = format!("{}, {}", of(old, "old"), of(new_side, "new"));
        line(&mut text, "compared", &summary);
        line(&mut text, "new", &kinds(new));
        line(&mut text, "disappeared", &kinds(disappeared));
        if !new.is_empty() || !disappeared.is_empty() {
            let legend = "in parentheses: how likely such a difference is if nothing changed";
            line(&mut text, "by chance", legend);
        }
        if let Some(runs) = too_few.filter(|_| !new.is_empty() || !disappeared.is_empty()) {
            let why = format!(
                "too few to tell a change from chance: one difference among {} comparisons can be \
                 significant with {runs} runs of each version",
                grouped(*compared as u64),
            );
            line(&mut text, "runs", &why);
        }
        self.list(&mut text, "new", new);
        self.list(&mut text, "disappeared", disappeared);
        text
    }

    fn list(&self, text: &mut String, title: &str, changes: &[Change]) {
        let mut last = None;
        for change in changes {
            let arch = change.syscall.arch;
            if last != Some(arch) {
                let _ = writeln!(text, "\n{title} on {}", arch.name());
                last = Some(arch);
            }
            let name = name(change);
            let _ = write!(text, "  {name:<0$} ", COLUMN - 3);
            if name.chars().count() > COLUMN - 3 {
                text.truncate(text.trim_end().len());
                let _ = write!(text, "\n{:COLUMN$}", "");
            }
            wrap(text, &self.seen(change), COLUMN, COLUMN);
        }
    }

    /// In how many runs something was seen, and what that means.
    fn seen(&self, change: &Change) -> String {
        let Some(chance) = change.chance else {
            return format!(
                "more than {} values in the new runs, at least one of them new",
                callgate_trace::recording::MAX_VALUES
            );
        };
        let mut words = format!(
            "{} of {} old, {} of {} new runs: {}significant ({})",
            grouped(change.old),
            grouped(self.changes.old.runs),
            grouped(change.new),
            grouped(self.changes.new_side.runs),
            if change.is_significant { "" } else { "not " },
            probability(chance)
        );
        for (key, value) in self.labels(change) {
            let _ = write!(words, "; only with {}={}", printable(key), printable(value));
        }
        words
    }

    /// The labels that all runs have in common that made a new syscall, but not all new runs.
    fn labels(&self, change: &Change) -> Vec<(&str, &str)> {
        let stats = self.new.get(change.syscall).filter(|_| change.what == Changed::Syscall);
        let is_own = |(key, value): &(&str, &str)| {
            self.new.runs().iter().any(|run| run.labels.get(*key).is_none_or(|own| own != value))
        };
        stats.into_iter().flat_map(|stats| stats.common_labels()).filter(is_own).collect()
    }

    pub(super) fn json(&self) -> String {
        let Changes { old, new_side, compared, too_few, new, disappeared } = &self.changes;
        let side = |side: &Side| {
            Json::Object(vec![("runs", side.runs.into()), ("calls", side.syscalls.into())])
        };
        let list =
            |changes: &[Change]| Json::array(changes.iter().map(|one| self.change_json(one)));
        let value = Json::Object(vec![
            ("old", side(old)),
            ("new", side(new_side)),
            ("compared", (*compared).into()),
            ("runs_needed", (*too_few).into()),
            ("appeared", list(new)),
            ("disappeared", list(disappeared)),
        ]);
        format!("{value}\n")
    }

    fn change_json(&self, change: &Change) -> Json {
        let (arg, argument, mask, value) = match change.what {
            Changed::Syscall => (None, None, None, None),
            Changed::Value { arg, name, mask, value } => {
                (Some(arg), Some(name), Some(mask), Some(value))
            }
            Changed::ManyValues { arg, name } => (Some(arg), Some(name), None, None),
        };
        let labels = self
            .labels(change)
            .into_iter()
            .map(|(key, value)| Json::Object(vec![("key", key.into()), ("value", value.into())]));
        let known = |runs: u64| change.chance.map(|_| runs);
        Json::Object(vec![
            ("arch", change.syscall.arch.name().into()),
            ("call", change.syscall.name().into()),
            ("nr", change.syscall.nr.into()),
            ("arg", arg.into()),
            ("name", argument.into()),
            ("mask", mask.into()),
            ("value", value.into()),
            ("old_runs", known(change.old).into()),
            ("new_runs", known(change.new).into()),
            ("chance", change.chance.map_or(Json::Null, Json::Float)),
            ("one_in", change.chance.map(one_in).into()),
            ("significant", change.is_significant.into()),
            ("only_with", Json::array(labels)),
        ])
    }
}

fn line(text: &mut String, label: &str, value: &str) {
    let _ = write!(text, "{label:<16}");
    wrap(text, value, 16, 16);
}

/// `2 syscalls, 1 value (2 significant)`.
fn kinds(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "nothing".to_owned();
    }
    let is_syscall = |change: &&Change| change.what == Changed::Syscall;
    let syscalls = changes.iter().filter(is_syscall).count() as u64;
    let values = changes.len() as u64 - syscalls;
    let counts =
        [(syscalls, "syscall"), (values, "value")].into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
    let significant = changes.iter().filter(|change| change.is_significant).count() as u64;
    format!("{}, {} significant", counts.join(" and "), grouped(significant))
}

/// A syscall, or a value of one of its arguments: `socket: family = AF_INET6`.
fn name(change: &Change) -> String {
    let arch = change.syscall.arch;
    let syscall = syscall::name(Some(arch), change.syscall.nr);
    match change.what {
        Changed::Syscall => syscall,
        Changed::ManyValues { name, .. } => format!("{syscall}: {name}"),
        Changed::Value { arg, name, mask, value } => {
            let values = ValueSet::Masked { mask, wanted: value };
            let bits = ValueCondition { arg: Some(arg), part: ArgPart::Whole, values };
            match mask {
                u64::MAX | 0xffff_ffff => {
                    let value = syscall::value_in_words(arch, change.syscall.nr, arg, value);
                    format!("{syscall}: {name} = {value}")
                }
                _ => format!("{syscall}: {}", bits.describe_on(arch, Some(&syscall))),
            }
        }
    }
}

/// `93 %`, or `1 in 12,341` below 1 %.
fn probability(chance: f64) -> String {
    if chance >= 0.01 {
        return format!("{:.0} %", chance * 100.0);
    }
    format!("1 in {}", grouped(one_in(chance)))
}

/// The reciprocal of a probability.
fn one_in(chance: f64) -> u64 {
    // Larger numbers say nothing more. The conversion saturates.
    (1.0 / chance).round().min(1e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_readable() {
        let all = [1.0, 0.926, 0.0101, 0.0099, 1.0 / 12_341.0, 0.0].map(probability);
        let expected =
            ["100 %", "93 %", "1 %", "1 in 101", "1 in 12,341", "1 in 1,000,000,000,000,000"];
        assert_eq!(all, expected);
    }
}
