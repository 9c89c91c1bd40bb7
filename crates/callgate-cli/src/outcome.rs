//! What a filter does with a syscall, as text and as JSON.

use anstyle::{AnsiColor, Style};
use callgate::explain::{ArgPart, Outcome, ValueCondition, ValueSet};
use callgate::{Arch, Verdict};

use crate::json::Json;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const UNUSUAL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// The verdict, or the verdicts with their conditions; arguments have the names that they have in this syscall.
pub(crate) fn lines(outcome: &Outcome, arch: Arch, syscall: Option<&str>) -> Vec<String> {
    match outcome {
        Outcome::Always(verdict) => vec![colored(*verdict)],
        Outcome::Depends { clauses, otherwise } => {
            let mut lines: Vec<String> = clauses
                .iter()
                .map(|clause| {
                    let when = clause.describe_on(arch, syscall);
                    format!("{} if {when}", colored(clause.verdict))
                })
                .collect();
            match lines.as_mut_slice() {
                [line] => *line += &format!(", else {}", colored(*otherwise)),
                _ => lines.push(format!("else {}", colored(*otherwise))),
            }
            lines
        }
        Outcome::Complex { verdicts } => vec![complex(verdicts)],
    }
}

/// The syscall of a group that gives arguments their names: if it is the only one.
pub(crate) fn argument_names<'n>(syscalls: &[(u32, &'n str)], arch: Arch) -> Option<&'n str> {
    match syscalls {
        // CONFIG_CLONE_BACKWARDS2 swaps the first two arguments.
        [(_, "clone")] if matches!(arch, Arch::S390x | Arch::S390) => None,
        [(_, name)] => Some(*name),
        _ => None,
    }
}

/// Verdicts whose conditions cannot be listed.
pub(crate) fn complex(verdicts: &[Verdict]) -> String {
    let list: Vec<String> = verdicts.iter().copied().map(colored).collect();
    format!("{}, too complex to list", list.join(" or "))
}

/// A verdict, coloured by whether it permits the syscall.
pub(crate) fn colored(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::ALLOW => GOOD,
        verdict if verdict.permits() => UNUSUAL,
        _ => BAD,
    };
    format!("{style}{verdict}{style:#}")
}

/// A verdict as JSON.
pub(crate) fn verdict_json(verdict: Verdict) -> Json {
    Json::Object(verdict_fields(verdict))
}

pub(crate) fn verdict_fields(verdict: Verdict) -> Vec<(&'static str, Json)> {
    vec![("verdict", verdict.to_string().into()), ("value", verdict.0.into())]
}

/// An outcome as JSON: always a verdict, a list of clauses, or the verdicts if it is too complex.
pub(crate) fn outcome_json(outcome: &Outcome) -> Json {
    match outcome {
        Outcome::Always(verdict) => {
            Json::Object(vec![("kind", "always".into()), ("always", verdict_json(*verdict))])
        }
        Outcome::Depends { clauses, otherwise } => {
            let clauses = clauses.iter().map(|clause| {
                Json::Object(vec![
                    ("if", Json::array(clause.conditions.iter().map(condition_json))),
                    ("then", verdict_json(clause.verdict)),
                ])
            });
            Json::Object(vec![
                ("kind", "depends".into()),
                ("clauses", Json::array(clauses)),
                ("otherwise", verdict_json(*otherwise)),
            ])
        }
        Outcome::Complex { verdicts } => Json::Object(vec![
            ("kind", "complex".into()),
            ("verdicts", Json::array(verdicts.iter().copied().map(verdict_json))),
        ]),
    }
}

fn condition_json(condition: &ValueCondition) -> Json {
    let part = match condition.part {
        ArgPart::Whole => "whole",
        ArgPart::Low => "low",
        ArgPart::High => "high",
    };
    let mut fields = vec![
        ("arg", condition.arg.into()),
        ("part", part.into()),
        ("text", condition.to_string().into()),
    ];
    match &condition.values {
        ValueSet::Ranges(ranges) => {
            let ranges = ranges.iter().map(|(first, last)| Json::array([*first, *last]));
            fields.push(("ranges", Json::array(ranges)));
        }
        ValueSet::Masked { mask, wanted } => {
            fields.extend([("mask", (*mask).into()), ("equals", (*wanted).into())]);
        }
        ValueSet::NotMasked { mask, wanted } => {
            fields.extend([("mask", (*mask).into()), ("differs_from", (*wanted).into())]);
        }
        ValueSet::Many(count) => fields.push(("count", count.to_string().into())),
    }
    Json::Object(fields)
}
