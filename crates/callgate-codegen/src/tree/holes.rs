//! Ranges with holes, the single values that earlier equality tests have excluded, and the solutions of such ranges.

use super::node::WeightedInterval;
use super::price::MAX_WHOLE;

/// A set of intervals, of which there are at most [`MAX_WHOLE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Holes([u64; MAX_WHOLE / 64]);

impl Holes {
    pub(super) const NONE: Holes = Holes([0; MAX_WHOLE / 64]);

    /// These intervals and another one.
    pub(super) fn and(mut self, interval: usize) -> Holes {
        self.0[interval / 64] |= 1 << (interval % 64);
        self
    }

    pub(super) fn contains(&self, interval: usize) -> bool {
        self.0[interval / 64] >> (interval % 64) & 1 == 1
    }

    /// The first one from an interval on; a larger number than that of any interval if there is none.
    pub(super) fn next(&self, from: usize) -> usize {
        let (first, shift) = (from / 64, from % 64);
        let mut mask = u64::MAX << shift;
        for (word, set) in self.0.iter().enumerate().skip(first) {
            if set & mask != 0 {
                return 64 * word + (set & mask).trailing_zeros() as usize;
            }
            mask = u64::MAX;
        }
        usize::MAX
    }

    /// Those among the 16 intervals from `low` on.
    pub(super) fn first(&self, low: usize) -> u16 {
        let (word, shift) = (low / 64, low % 64);
        let next = if shift > 48 { self.0.get(word + 1).copied().unwrap_or(0) } else { 0 };
        (self.0[word] >> shift | next.checked_shl(64 - shift as u32).unwrap_or(0)) as u16
    }
}

/// The intervals `low..=high` without the `holes` heaviest single values among them, which earlier equality tests
/// have excluded.
pub(super) type Range = (usize, usize, usize);

/// The solutions that were found so far, by range: a cost and a choice, or a lower bound of the cost. Few ranges have any,
/// and these have few; the latest of several for the same range applies.
pub(super) struct HoledRanges<T> {
    /// By [number](super::plain_costs::PlainCosts::number) of the range, the number of the solution that was found last, from 1.
    /// Empty until one is found.
    last: Vec<u32>,
    /// The number of ranges.
    ranges: usize,
    solutions: Vec<Solution<T>>,
}

struct Solution<T> {
    holes: u32,
    /// The number of the solution of the same range that was found before, or 0.
    before: u32,
    found: (f64, Option<T>),
}

impl<T: Copy> HoledRanges<T> {
    /// No solutions, for this number of ranges.
    pub(super) fn new(ranges: usize) -> HoledRanges<T> {
        HoledRanges { last: Vec::new(), ranges, solutions: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn get(&self, range: usize, holes: usize) -> Option<(f64, Option<T>)> {
        let mut number = self.last.get(range).copied().unwrap_or(0);
        while let Some(at) = number.checked_sub(1) {
            let solution = &self.solutions[at as usize];
            if solution.holes == holes as u32 {
                return Some(solution.found);
            }
            number = solution.before;
        }
        None
    }

    pub(super) fn insert(&mut self, range: usize, holes: usize, found: (f64, Option<T>)) {
        self.last.resize(self.ranges, 0);
        let last = &mut self.last[range];
        self.solutions.push(Solution { holes: holes as u32, before: *last, found });
        *last = self.solutions.len() as u32;
    }
}

/// A set of ranks.
type Set = [u64; MAX_WHOLE / 64];

/// The ranks of the single values among at most [`MAX_WHOLE`] intervals: 0 is the heaviest; those with the same weight
/// are in order.
pub(super) struct Ranks {
    /// By rank.
    singles: Vec<usize>,
    /// Per interval, the ranks of the single values from it on, and those up to it.
    from: Vec<Set>,
    up_to: Vec<Set>,
}

impl Ranks {
    pub(super) fn new(intervals: &[WeightedInterval]) -> Ranks {
        let single = |at: &usize| intervals[*at].is_single();
        let mut singles: Vec<usize> = (0..intervals.len()).filter(single).collect();
        singles.sort_by(|a, b| intervals[*b].weight.total_cmp(&intervals[*a].weight));
        let mut own = vec![Set::default(); intervals.len()];
        for (rank, single) in singles.iter().enumerate() {
            own[*single][rank / 64] |= 1 << (rank % 64);
        }
        let union = |all: &mut Set, own: &Set| {
            all.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
            Some(*all)
        };
        let up_to = own.iter().scan(Set::default(), union).collect();
        let mut from: Vec<Set> = own.iter().rev().scan(Set::default(), union).collect();
        from.reverse();
        Ranks { singles, from, up_to }
    }

    /// The single values of a range, the heaviest first.
    #[inline(always)]
    pub(super) fn singles(&self, low: usize, high: usize) -> impl Iterator<Item = usize> + Clone {
        let mut set = self.from[low];
        set.iter_mut().zip(&self.up_to[high]).for_each(|(from, up_to)| *from &= up_to);
        Singles { ranks: self, set, word: 0 }
    }
}

#[derive(Clone)]
struct Singles<'a> {
    ranks: &'a Ranks,
    /// Those that are left.
    set: Set,
    /// The words before this one are empty.
    word: usize,
}

impl Iterator for Singles<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        loop {
            let word = self.set.get_mut(self.word)?;
            if *word != 0 {
                let rank = 64 * self.word + word.trailing_zeros() as usize;
                *word &= *word - 1;
                return self.ranks.singles.get(rank).copied();
            }
            self.word += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_holes_are_relative_to_the_range() {
        let holes = [0, 3, 60, 63, 64, 70, 130, 255].into_iter().fold(Holes::NONE, Holes::and);
        for low in 0..MAX_WHOLE {
            let first = (0..16).filter(|at| low + at < MAX_WHOLE && holes.contains(low + at));
            assert_eq!(holes.first(low), first.fold(0, |bits, at| bits | 1 << at), "{low}");
        }
    }
}
