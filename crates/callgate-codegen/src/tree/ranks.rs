//! The single values of ranges in the order of their weights.

use super::interval::WeightedInterval;
use super::price::MAX_WHOLE;

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
