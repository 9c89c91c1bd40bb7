//! Which of many differences are significant.

use super::model::Change;

/// The expected share of chance among the differences that are called significant.
pub(super) const FALSE_DISCOVERIES: f64 = 0.05;

/// Marks the significant ones of the differences, if `compared` syscalls and values were compared.
pub(super) fn mark<'c>(all: impl Iterator<Item = &'c mut Change>, compared: usize) {
    let mut all: Vec<(f64, &mut Change)> =
        all.filter_map(|change| Some((change.chance?, change))).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let is_below = |(rank, (chance, _)): &(usize, &(f64, &mut Change))| {
        *chance <= (rank + 1) as f64 / compared.max(1) as f64 * FALSE_DISCOVERIES
    };
    let count = all.iter().enumerate().rfind(is_below).map_or(0, |(rank, _)| rank + 1);
    all.into_iter().take(count).for_each(|(_, change)| change.is_significant = true);
}
