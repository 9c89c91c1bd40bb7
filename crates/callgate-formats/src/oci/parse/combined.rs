//! Entries of a profile and its base profiles, in the order of the operator.

use std::collections::BTreeMap;

use crate::oci::model::{Entry, Name};
use crate::ruleset::Comparison;
use crate::syntax::reader::Reader;
use callgate_core::Verdict;

/// What an entry means for each of its names, in a size that does not depend on its conditions: a profile can have many
/// names and many conditions.
#[derive(Clone, Copy)]
struct Rule {
    verdict: Verdict,
    /// Equal for rules with the same conditions.
    conditions: usize,
    applies_always: bool,
    never_applies: bool,
    /// The argument, if each alternative is one comparison of it.
    argument: Option<u8>,
}

/// Sorts entries as version 1.0.0 of the operator does, and warns about syscalls for which later versions write another
/// rule.
pub(super) fn combine(reader: &mut Reader<'_>, entries: &mut [Entry<'_>]) {
    entries.sort_by_key(|entry| entry.action.name);
    let mut rules: BTreeMap<&str, Vec<(Name<'_>, Rule)>> = BTreeMap::new();
    let mut known: BTreeMap<&[Vec<Comparison>], usize> = BTreeMap::new();
    for entry in entries.iter() {
        let next = known.len();
        let conditions = *known.entry(&entry.alternatives).or_insert(next);
        let rule = rule(entry, conditions);
        for name in &entry.names {
            rules.entry(name.name).or_default().push((name.origin(), rule));
        }
    }
    let mut changed: Vec<[Name<'_>; 2]> = Vec::new();
    for own in rules.values() {
        if let ([(first, one), others @ ..], false) = (own.as_slice(), is_same_in_one_entry(own)) {
            let differs = |(_, other): &&(Name<'_>, Rule)| {
                (one.verdict, one.conditions) != (other.verdict, other.conditions)
            };
            changed.extend(others.iter().find(differs).map(|(second, _)| [*first, *second]));
        }
    }
    let Some([(first, name), (second, _)]) = changed.first().copied() else { return };
    let others = match changed.len() - 1 {
        0 => String::new(),
        1 => " (1 more syscall as well)".to_owned(),
        more => format!(" ({more} more syscalls as well)"),
    };
    let message = format!(
        "`{name}` is in several entries, here and at {}{others}: version 1.0.0 of the operator writes them all, \
         later versions write one entry with the laxest action and the conditions of all",
        reader.place(first)
    );
    reader.warn(second, message).help =
        "write the rule in one of the two resources only, if the version matters".to_owned();
}

fn rule(entry: &Entry<'_>, conditions: usize) -> Rule {
    let mut arguments = entry.alternatives.iter().map(|all| match all.as_slice() {
        [only] => Some(only.arg()),
        _ => None,
    });
    let argument = arguments.next().flatten();
    Rule {
        verdict: entry.action.verdict,
        conditions,
        applies_always: entry.alternatives.iter().any(Vec::is_empty),
        never_applies: entry.alternatives.is_empty(),
        argument: argument.filter(|_| arguments.all(|other| other == argument)),
    }
}

/// Whether one entry with the laxest action and the conditions of all entries means what the entries mean: their
/// actions are the same, and one applies always, or each has one comparison of the same argument.
fn is_same_in_one_entry(own: &[(Name<'_>, Rule)]) -> bool {
    let Some(((_, first), others)) = own.split_first() else { return true };
    if others.iter().any(|(_, other)| other.verdict != first.verdict) {
        return false;
    }
    if own.iter().any(|(_, rule)| rule.applies_always)
        || others.iter().all(|(_, other)| other.conditions == first.conditions)
    {
        return true;
    }
    let mut arguments =
        own.iter().filter(|(_, rule)| !rule.never_applies).map(|(_, rule)| rule.argument);
    let argument = arguments.next().flatten();
    argument.is_some() && arguments.all(|other| other == argument)
}
