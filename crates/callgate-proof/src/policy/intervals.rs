//! The intervals of syscall numbers, or of opcodes, in which the same rules apply.

use super::section::Rule;

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
    // In order.
    let mut applying: Vec<usize> = Vec::new();
    let mut matching: Vec<usize> = Vec::new();
    for group in bounds.chunk_by(|a, b| a.0 == b.0) {
        let mut first = 0;
        for (at, rule, begins) in group {
            first = *at;
            match (begins, applying.binary_search(rule)) {
                (true, Err(place)) => applying.insert(place, *rule),
                (false, Ok(place)) => drop(applying.remove(place)),
                _ => {}
            }
        }
        matching.clear();
        for index in &applying {
            matching.push(*index);
            if rules.get(*index).is_some_and(|rule| rule.when.is_always()) {
                break;
            }
        }
        visit(first, &matching)?;
    }
    Ok(())
}
