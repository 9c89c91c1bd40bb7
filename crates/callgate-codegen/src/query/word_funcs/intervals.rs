//! The intervals of values of a function of one word.

use super::super::partition::Interval;
use super::bits_below::bits_below;
use super::func::WordFunc;
use super::known::Known;
use super::length::{Length, Size};
use super::nodes::WordFuncs;

impl WordFuncs {
    /// The size of a function of some bits, in time linear in its nodes.
    pub(crate) fn size(&mut self, func: WordFunc, mask: u32) -> Size {
        let mut known = std::mem::take(&mut self.lengths);
        known.begin(func.at() + 1, Length { intervals: 0, first: func, last: func });
        let mut nodes = 0;
        let length = self.length_below(func, 32, mask, &mut known, &mut nodes);
        self.lengths = known;
        self.steps += nodes as u64;
        Size { nodes, intervals: length.intervals as usize }
    }

    /// The length for the values without bits outside `mask`, of the low `bits`. Each recursion has fewer bits.
    fn length_below(
        &self,
        func: WordFunc,
        bits: u32,
        mask: u32,
        known: &mut Known<Length>,
        nodes: &mut usize,
    ) -> Length {
        let node = &self.nodes[func.at()];
        let Some(bit) = node.bits.checked_ilog2() else {
            return Length { intervals: 1, first: func, last: func };
        };
        let own = match known.get(func) {
            Some(own) => own,
            None => {
                *nodes += 1;
                let low = self.length_below(node.low, bit, mask, known, nodes);
                let high = self.length_below(node.high, bit, mask, known, nodes);
                let own = low.followed_by(high);
                known.set(func, own);
                own
            }
        };
        // The bits above the tested one repeat the values below.
        let free = mask & bits_below(bits) & !bits_below(bit + 1);
        (0..free.count_ones()).fold(own, |length, _| length.followed_by(length))
    }

    /// Partitions the values without bits outside `mask` into maximal intervals with the same exit, which begin and end
    /// with such values; there may be gaps between them. [`WordFuncs::size`] has their number.
    pub(crate) fn partition(&self, func: WordFunc, mask: u32) -> Vec<Interval<WordFunc>> {
        let mut intervals: Vec<Interval<WordFunc>> = Vec::with_capacity(32);
        // Depth first, low child first, with an explicit stack: function, first value, number of remaining bits.
        let mut stack = Vec::with_capacity(33);
        stack.push((func, 0u32, 32u32));
        while let Some((func, first, bits)) = stack.pop() {
            let node = &self.nodes[func.at()];
            let Some(bit) = node.bits.checked_ilog2() else {
                let last = first | (bits_below(bits) & mask);
                match intervals.last_mut() {
                    Some(interval) if interval.then == func => interval.last = last,
                    _ => intervals.push(Interval { first, last, then: func }),
                }
                continue;
            };
            // Free bits above the tested one repeat the pattern below it.
            let top = 1 << (bits - 1);
            let [low, high] = if bit + 1 < bits { [func; 2] } else { [node.low, node.high] };
            if mask & top != 0 {
                stack.push((high, first | top, bits - 1));
            }
            stack.push((low, first, bits - 1));
        }
        intervals
    }
}
