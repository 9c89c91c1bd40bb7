//! The intervals of syscall numbers, or of opcodes, in which the same rules apply.

use std::collections::BTreeSet;

use super::section::Rule;

/// The maximum number of rules that are kept in a list while they apply. In most policies, few rules apply at once, and a list
/// takes less time than a search tree; with more rules, moving its rest may take long.
const MAX_LISTED: usize = 1 << 12;

/// Indexes of rules, in order.
trait Indexes: Default {
    fn insert(&mut self, rule: usize);
    fn remove(&mut self, rule: usize);
    fn iter(&self) -> impl Iterator<Item = usize>;
}

impl Indexes for Vec<usize> {
    fn insert(&mut self, rule: usize) {
        if let Err(place) = self.binary_search(&rule) {
            self.insert(place, rule);
        }
    }

    fn remove(&mut self, rule: usize) {
        if let Ok(place) = self.binary_search(&rule) {
            self.remove(place);
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.as_slice().iter().copied()
    }
}

impl Indexes for BTreeSet<usize> {
    fn insert(&mut self, rule: usize) {
        self.insert(rule);
    }

    fn remove(&mut self, rule: usize) {
        self.remove(&rule);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.iter().copied()
    }
}

/// Calls `visit` for each interval in which other rules apply than before, in order, with its first number and the indexes of
/// the rules that may decide there: up to the first one that always holds. Before the first interval, no rule applies. The
/// largest number is `largest`.
///
/// # Errors
/// Those of `visit`.
pub(crate) fn for_each_interval<E>(
    rules: &[Rule],
    largest: u32,
    mut visit: impl FnMut(u32, &[usize]) -> Result<(), E>,
) -> Result<(), E> {
    if rules.len() <= MAX_LISTED {
        sweep::<Vec<usize>, E>(rules, largest, &mut visit)
    } else {
        sweep::<BTreeSet<usize>, E>(rules, largest, &mut visit)
    }
}

/// What [`for_each_interval`] calls.
type Visit<'v, E> = &'v mut dyn FnMut(u32, &[usize]) -> Result<(), E>;

fn sweep<I: Indexes, E>(rules: &[Rule], largest: u32, visit: Visit<'_, E>) -> Result<(), E> {
    // Where each rule begins and ceases to apply.
    let ranges = rules.iter().map(|rule| rule.syscalls.ranges().len());
    let mut bounds: Vec<(u32, usize, bool)> = Vec::with_capacity(2 * ranges.sum::<usize>());
    for (rule, numbers) in rules.iter().map(|rule| &rule.syscalls).enumerate() {
        for (first, last) in numbers.ranges() {
            bounds.push((*first, rule, true));
            if *last < largest {
                bounds.push((last + 1, rule, false));
            }
        }
    }
    bounds.sort_unstable();
    let mut applying = I::default();
    let mut matching: Vec<usize> = Vec::new();
    for group in bounds.chunk_by(|a, b| a.0 == b.0) {
        let mut first = 0;
        for (at, rule, begins) in group {
            first = *at;
            if *begins { applying.insert(*rule) } else { applying.remove(*rule) }
        }
        matching.clear();
        for index in applying.iter() {
            matching.push(index);
            if rules.get(index).is_some_and(|rule| rule.when.is_always()) {
                break;
            }
        }
        visit(first, &matching)?;
    }
    Ok(())
}
