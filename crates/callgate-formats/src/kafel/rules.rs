//! The rules of one architecture, in the order in which they are tested.

use std::collections::HashMap;

use super::lower::{Lowered, LoweredFilters};
use super::model::{Filter, Model, Statement};
use crate::diagnostics::quote::shorten;
use crate::included::{OTHER, Place, Reports, Sources};
use callgate_bpf::diagnostic::Topic;
use callgate_core::policy::{Condition, Rule};
use callgate_core::{SyscallSet, Verdict};

/// The rules of the top level, with those of the used policies at the place of their first `USE`. The second result
/// tells which policies are used. `stated` gets each rule, with its filter and its verdict.
pub(super) fn rules(
    model: &Model,
    mut lowered: LoweredFilters,
    sources: &Sources,
    reports: &mut Reports,
    mut stated: impl FnMut(&Filter, &Lowered, Verdict),
) -> (Vec<Rule>, Vec<bool>) {
    let mut used: Vec<Option<Place>> = vec![None; model.policies.len()];
    let mut list = List::default();
    // Policies that are being read, with the next statement; the innermost last.
    let mut open = vec![(0, 0)];
    while let Some((policy, next)) = open.last_mut() {
        let (policy, statement) = (*policy, std::mem::replace(next, *next + 1));
        match model.policies.get(policy).and_then(|body| body.statements.get(statement)) {
            None => drop(open.pop()),
            Some(Statement::Use { policy: inner, at }) => match used.get_mut(*inner) {
                Some(Some(first)) => {
                    let message =
                        format!("this policy is already used at {OTHER}, so it has no effect here");
                    reports.warn_with(*at, *first, message).help = "remove it".to_owned();
                }
                Some(first) => {
                    *first = Some(*at);
                    open.push((*inner, 0));
                }
                None => {}
            },
            Some(Statement::Block { verdict, filters }) => {
                for filter in filters {
                    let rule = lowered.get_mut(filter.index).and_then(Option::take);
                    let Some(rule) = rule else { continue };
                    stated(filter, &rule, *verdict);
                    if let Some(first) = list.decided.get(&rule.nr) {
                        let name = shorten(sources.text(filter.at));
                        let message = format!(
                            "`{name}` has no effect here: the rule at {OTHER} decides every call"
                        );
                        let warning = reports.warn_with(filter.at.at, *first, message);
                        warning.help = "remove one of the two rules".to_owned();
                        warning.topic = Some(Topic::Overruled);
                        continue;
                    }
                    list.add(rule, *verdict, filter.at.at);
                }
            }
        }
    }
    (list.finish(), used.iter().map(Option::is_some).collect())
}

/// Rules; unconditional ones with the same verdict are joined.
#[derive(Default)]
struct List {
    rules: Vec<Rule>,
    /// The syscalls for which a rule without a condition exists, and its place.
    decided: HashMap<u32, Place>,
    /// Numbers with one verdict that are not yet a rule.
    open: Option<(Verdict, Vec<u32>)>,
}

impl List {
    fn add(&mut self, rule: Lowered, verdict: Verdict, at: Place) {
        if rule.when == Condition::never() {
            return;
        }
        if !rule.when.is_always() {
            self.close();
            self.rules.push(Rule { syscalls: SyscallSet::one(rule.nr), when: rule.when, verdict });
            return;
        }
        self.decided.insert(rule.nr, at);
        match &mut self.open {
            Some((same, numbers)) if *same == verdict => numbers.push(rule.nr),
            _ => {
                self.close();
                self.open = Some((verdict, vec![rule.nr]));
            }
        }
    }

    fn close(&mut self) {
        if let Some((verdict, numbers)) = self.open.take() {
            let syscalls = numbers.into_iter().collect();
            self.rules.push(Rule { syscalls, when: Condition::always(), verdict });
        }
    }

    fn finish(mut self) -> Vec<Rule> {
        self.close();
        self.rules
    }
}
