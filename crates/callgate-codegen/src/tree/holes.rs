//! Holes of a range: the single values that earlier equality tests have excluded.

use super::price::MAX_WHOLE;

/// A set of intervals of a range, of which there are at most [`MAX_WHOLE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Holes {
    low: usize,
    len: usize,
    bits: [u64; MAX_WHOLE / 64],
}

impl Holes {
    /// No holes, in a range from `low` on.
    pub(super) fn none(low: usize) -> Holes {
        Holes { low, len: 0, bits: [0; MAX_WHOLE / 64] }
    }

    /// These intervals of a range from `low` on; each occurs once.
    pub(super) fn new(low: usize, intervals: impl Iterator<Item = usize>) -> Holes {
        intervals.fold(Holes::none(low), |mut holes, interval| {
            let at = interval - low;
            holes.bits[at / 64] |= 1 << (at % 64);
            holes.len += 1;
            holes
        })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn contains(&self, interval: usize) -> bool {
        let at = interval - self.low;
        self.len > 0 && self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// Those among the first 16 intervals of the range.
    pub(super) fn first(&self) -> u16 {
        self.bits[0] as u16
    }
}
