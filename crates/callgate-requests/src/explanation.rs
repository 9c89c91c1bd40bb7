//! Explanations of filters as JSON, and those of some syscalls only.

use callgate::explain::{ArgPart, Explanation, Outcome, ValueCondition, ValueSet};
use callgate::{Arch, Verdict};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::policy::{Cmp, VariableRelation};

use crate::json::Json;
use crate::syscall;

/// An explanation of the source with this name.
pub fn explanation(name: &str, explanation: &Explanation) -> Json {
    let arches = explanation.arches.iter().map(|arch| {
        let groups = arch.groups.iter().map(|group| {
            let calls = group.syscalls.iter().map(|(nr, name)| {
                Json::Object(vec![("nr", (*nr).into()), ("name", (*name).into())])
            });
            Json::Object(vec![
                ("outcome", outcome_json(&group.outcome)),
                ("calls", Json::array(calls)),
            ])
        });
        let unnamed = arch.unnamed.iter().map(|(outcome, calls)| {
            let ranges = calls.ranges().iter().map(|(first, last)| Json::array([*first, *last]));
            Json::Object(vec![("outcome", outcome_json(outcome)), ("numbers", Json::array(ranges))])
        });
        Json::Object(vec![
            ("arch", Arch::name(arch.arch).into()),
            ("groups", Json::array(groups)),
            ("unnamed", Json::array(unnamed)),
        ])
    });
    Json::Object(vec![
        ("source", name.into()),
        ("arches", Json::array(arches)),
        ("other_arches", explanation.other_arches.map(verdict_json).into()),
    ])
}

/// A verdict: its text and its value.
pub fn verdict_json(verdict: Verdict) -> Json {
    Json::Object(verdict_fields(verdict))
}

/// The fields of [`verdict_json`].
pub fn verdict_fields(verdict: Verdict) -> Vec<(&'static str, Json)> {
    vec![("verdict", verdict.to_string().into()), ("value", verdict.0.into())]
}

/// An outcome: always a verdict, a list of clauses, or the verdicts if it is too complex.
pub fn outcome_json(outcome: &Outcome) -> Json {
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

fn name_of(part: ArgPart) -> &'static str {
    match part {
        ArgPart::Whole => "whole",
        ArgPart::Low => "low",
        ArgPart::High => "high",
    }
}

/// The relation between two arguments.
fn relation_of(relation: VariableRelation) -> &'static str {
    match relation {
        VariableRelation::Cmp(Cmp::Eq) => "==",
        VariableRelation::Cmp(Cmp::Ne) => "!=",
        VariableRelation::Cmp(Cmp::Lt) => "<",
        VariableRelation::Cmp(Cmp::Le) => "<=",
        VariableRelation::Cmp(Cmp::Gt) => ">",
        VariableRelation::Cmp(Cmp::Ge) => ">=",
        VariableRelation::AnyBit => "shares a bit",
        VariableRelation::NoBit => "shares no bit",
    }
}

fn condition_json(condition: &ValueCondition) -> Json {
    let mut fields = vec![
        ("arg", condition.arg.into()),
        ("part", name_of(condition.part).into()),
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
        ValueSet::Compared { relation, arg, part: of_other } => {
            fields.extend([
                ("relation", relation_of(*relation).into()),
                ("other_arg", (*arg).into()),
                ("other_part", name_of(*of_other).into()),
            ]);
        }
        ValueSet::Many(count) => fields.push(("count", count.to_string().into())),
    }
    Json::Object(fields)
}

/// Removes everything except these syscalls.
///
/// # Errors
/// If no architecture has one of them.
pub fn keep_only(explanation: &mut Explanation, calls: &[String]) -> Result<(), Diagnostic> {
    let arches: Vec<Arch> = explanation.arches.iter().map(|arch| arch.arch).collect();
    let wanted = syscall::find_all(&arches, calls)?;
    for (arch, wanted) in explanation.arches.iter_mut().zip(&wanted) {
        for group in &mut arch.groups {
            group.syscalls.retain(|(nr, _)| wanted.contains(nr));
        }
        arch.groups.retain(|group| !group.syscalls.is_empty());
        for (_, numbers) in &mut arch.unnamed {
            *numbers = wanted.iter().copied().filter(|nr| numbers.contains(*nr)).collect();
        }
        arch.unnamed.retain(|(_, numbers)| !numbers.is_empty());
    }
    explanation.arches.retain(|arch| !(arch.groups.is_empty() && arch.unnamed.is_empty()));
    explanation.other_arches = None;
    Ok(())
}
