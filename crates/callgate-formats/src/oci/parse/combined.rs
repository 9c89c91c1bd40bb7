//! Entries of a profile and its base profiles, in the order of the operator.

use std::collections::BTreeMap;

use crate::oci::model::{Entry, Name};
use crate::syntax::reader::Reader;

/// Sorts entries as version 1.0.0 of the operator does, and warns about syscalls for which later versions write another
/// rule.
pub(super) fn combine(reader: &mut Reader<'_>, entries: &mut [Entry<'_>]) {
    entries.sort_by_key(|entry| entry.action.name);
    let mut rules: BTreeMap<&str, Vec<(Name<'_>, &Entry<'_>)>> = BTreeMap::new();
    for entry in entries.iter() {
        for name in &entry.names {
            rules.entry(name.1).or_default().push((*name, entry));
        }
    }
    let mut changed: Vec<[Name<'_>; 2]> = Vec::new();
    for own in rules.values() {
        if let ([(first, one), others @ ..], false) = (own.as_slice(), is_same_in_one_entry(own)) {
            let differs = |(_, other): &&(Name<'_>, &Entry<'_>)| !is_same_rule(one, other);
            changed.extend(others.iter().find(differs).map(|(second, _)| [*first, *second]));
        }
    }
    let Some([(first, name), (second, _)]) = changed.first().copied() else { return };
    let others = match changed.len() - 1 {
        0 => String::new(),
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

/// Whether one entry with the laxest action and the conditions of all entries means what the entries mean: their
/// actions are the same, and one applies always, or each has one comparison of the same argument.
fn is_same_in_one_entry(own: &[(Name<'_>, &Entry<'_>)]) -> bool {
    let Some(((_, first), others)) = own.split_first() else { return true };
    if others.iter().any(|(_, other)| other.action.verdict != first.action.verdict) {
        return false;
    }
    let applies_always = |entry: &Entry<'_>| entry.alternatives.iter().any(Vec::is_empty);
    if own.iter().any(|(_, entry)| applies_always(entry)) {
        return true;
    }
    if others.iter().all(|(_, other)| other.alternatives == first.alternatives) {
        return true;
    }
    let mut arguments =
        own.iter().flat_map(|(_, entry)| &entry.alternatives).map(|all| match all.as_slice() {
            [only] => Some(only.arg()),
            _ => None,
        });
    let argument = arguments.next().flatten();
    argument.is_some() && arguments.all(|other| other == argument)
}

fn is_same_rule(one: &Entry<'_>, other: &Entry<'_>) -> bool {
    one.action.verdict == other.action.verdict && one.alternatives == other.alternatives
}
