//! Holes of a range: the single values that earlier equality tests have excluded.

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
