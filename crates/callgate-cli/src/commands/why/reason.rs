//! The reason for the verdict of one filter.

use callgate::{Arch, Endian, SeccompData, Verdict, compile, explain};
use callgate_codegen::query::Clause;
use callgate_core::policy::{Policy, Rule, Section};
use callgate_core::{LongProgram, SyscallSet, diagram};
use callgate_formats::statements::{Statement, Statements};
use callgate_formats::why::{Cause, Why, why};

use crate::source::{FilterContent, SourceFilter};

/// The verdict of a filter, and why.
pub(super) struct FilterReason<'f> {
    /// The name of the filter.
    pub(super) name: &'f str,
    pub(super) verdict: Verdict,
    pub(super) reason: Reason<'f>,
    /// What the text states, if it is known.
    pub(super) statements: Option<&'f Statements>,
    /// The directive of systemd that installs it.
    pub(super) directive: Option<&'static str>,
}

/// Why a filter returns a verdict.
pub(super) enum Reason<'f> {
    /// Rules of a text, or that none applies.
    Text(Why<'f>),
    /// A policy without a text, such as a preset.
    Policy,
    /// The instruction of a program that returns.
    Instruction { index: usize, text: String },
}

impl<'f> FilterReason<'f> {
    pub(super) fn of(filter: &'f SourceFilter, data: &SeccompData, call: Option<&str>) -> Self {
        let mut known = None;
        let (verdict, reason) = match &filter.content {
            FilterContent::Policy(policy) => match filter.statements() {
                Some(statements) => {
                    known = Some(statements);
                    let found = why(policy, statements, data, call);
                    (found.verdict, Reason::Text(found))
                }
                None => (policy.evaluate(data), Reason::Policy),
            },
            FilterContent::Program(program, endian) => of_program(program, *endian, data),
        };
        let (statements, directive) = (known, filter.directive);
        FilterReason { name: &filter.name, verdict, reason, statements, directive }
    }

    /// Whether the filter has no rules for the architecture.
    pub(super) fn is_of_other_arch(&self) -> bool {
        matches!(&self.reason, Reason::Text(Why { cause: Cause::OtherArch, .. }))
    }
}

fn of_program(
    program: &LongProgram,
    endian: Endian,
    data: &SeccompData,
) -> (Verdict, Reason<'static>) {
    let (mut index, mut text) = (0, String::new());
    let run =
        program.trace(data, endian, |step| (index, text) = (step.index, step.insn.to_string()));
    (run.verdict, Reason::Instruction { index, text })
}

/// The condition of a rule, with the names of arguments and constants; `None` if it is always met.
pub(super) fn condition(rule: &Statement, arch: Arch, name: Option<&str>) -> Option<String> {
    if rule.when.is_always() {
        return None;
    }
    let syscalls = SyscallSet::one(rule.nr);
    let only = Rule { syscalls, when: rule.when.clone(), verdict: Verdict::ALLOW };
    let section = Section::new(rule.arch, vec![only], Verdict::KILL_PROCESS);
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).ok()?;
    let mut store = diagram::Store::default();
    let root = compile::diagram(&mut store, &policy).ok()?;
    let explanation = explain::explain(&store, root, &[arch]);
    let own = explanation.arches.first()?;
    let has = |group: &&explain::Group| group.syscalls.iter().any(|(nr, _)| *nr == rule.nr);
    match own.groups.iter().find(has).map(|group| &group.outcome) {
        Some(explain::Outcome::Depends { clauses, otherwise: Verdict::KILL_PROCESS }) => {
            // The first clause that applies decides. Exceptions come first, or the order is not that of a sentence.
            let first = clauses.iter().position(|clause| clause.verdict == Verdict::ALLOW);
            let (except, met) = clauses.split_at(first.unwrap_or(clauses.len()));
            if met.iter().any(|clause| clause.verdict != Verdict::ALLOW) {
                return Some("its conditions hold".to_owned());
            }
            let any = |clauses: &[Clause]| {
                let texts = clauses.iter().map(|clause| clause.describe_on(arch, name));
                texts.collect::<Vec<_>>().join(", or ")
            };
            match (except, met) {
                ([], met) => Some(any(met)),
                (except, [only]) => {
                    Some(format!("{}, but not ({})", only.describe_on(arch, name), any(except)))
                }
                (except, met) => Some(format!("({}), but not ({})", any(met), any(except))),
            }
        }
        Some(explain::Outcome::Depends { clauses, .. }) => {
            if clauses.iter().any(|clause| clause.verdict == Verdict::ALLOW) {
                return Some("its conditions hold".to_owned());
            }
            let only = match clauses.as_slice() {
                [only] => only.otherwise_on(arch, name),
                _ => None,
            };
            if only.is_some() {
                return only;
            }
            let texts = clauses.iter().map(|clause| clause.describe_on(arch, name));
            Some(format!("not ({})", texts.collect::<Vec<_>>().join(", or ")))
        }
        Some(explain::Outcome::Always(Verdict::KILL_PROCESS)) => Some("never".to_owned()),
        _ => Some("its conditions hold".to_owned()),
    }
}
