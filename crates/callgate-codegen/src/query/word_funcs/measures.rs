//! Exits, values, bounds, sizes and intervals of a function of one word.

use super::super::partition::Interval;
use super::nodes::{Bounds, Known, Length, Size, WordFunc, WordFuncs, bits_below};

/// The bounds of no value: the neutral element of their union.
const NO_VALUE: Bounds = Bounds { any: 0, all: u32::MAX };

/// The bounds of sets of values that no bit separates from the others.
const ANY_VALUE: Bounds = Bounds { any: u32::MAX, all: 0 };

impl WordFuncs {
    /// Begins a traversal.
    fn traverse(&mut self) {
        self.visited.begin(self.nodes.len(), ());
    }

    /// The stack of a depth-first traversal: one sibling for each bit.
    fn stack(&self, func: WordFunc) -> Vec<WordFunc> {
        let mut stack = Vec::with_capacity(33);
        stack.push(func);
        stack
    }

    /// Whether the traversal visits a node for the first time.
    fn visit(&mut self, func: WordFunc) -> bool {
        let is_first = self.visited.get(func).is_none();
        self.visited.set(func, ());
        is_first
    }

    /// The exits of a function, in the order of their first values; `None` if there are more than `limit`.
    pub(crate) fn exits(&mut self, func: WordFunc, limit: usize) -> Option<Vec<WordFunc>> {
        self.traverse();
        let (mut exits, mut stack) = (Vec::new(), self.stack(func));
        while let Some(func) = stack.pop() {
            if !self.visit(func) {
                continue;
            }
            if self.is_exit(func) {
                if exits.len() == limit {
                    return None;
                }
                exits.push(func);
            } else {
                let [low, high] = self.children(func);
                stack.extend([high, low]);
            }
        }
        Some(exits)
    }

    /// The number of values that lead to an exit.
    pub(crate) fn values_to(&self, func: WordFunc, exit: WordFunc) -> u64 {
        let mut known = Known::default();
        known.begin(func.at() + 1, 0);
        self.values_below(func, 32, exit, &mut known)
    }

    /// As [`WordFuncs::values_to`], for the low `bits` of the word. Each recursion has fewer bits.
    fn values_below(
        &self,
        func: WordFunc,
        bits: u32,
        exit: WordFunc,
        known: &mut Known<u64>,
    ) -> u64 {
        let node = &self.nodes[func.at()];
        if node.bits == 0 {
            return if func == exit { 1 << bits } else { 0 };
        }
        let bit = node.bits.ilog2();
        let own = match known.get(func) {
            Some(own) => own,
            None => {
                let own = self.values_below(node.low, bit, exit, known)
                    + self.values_below(node.high, bit, exit, known);
                known.set(func, own);
                own
            }
        };
        own << (bits - bit - 1)
    }

    /// The bounds of the values that do not lead to an exit; `None` if there are none.
    pub(crate) fn bounds_except(&mut self, func: WordFunc, exit: WordFunc) -> Option<Bounds> {
        if [0, u32::MAX].iter().all(|value| self.follow(func, *value) != exit) {
            return Some(ANY_VALUE);
        }
        self.bounds(func, &|other| other != exit)
    }

    /// The bounds of the values that lead to an exit; `None` if there are none.
    pub(crate) fn bounds_of(&mut self, func: WordFunc, exit: WordFunc) -> Option<Bounds> {
        self.bounds(func, &|other| other == exit)
    }

    /// The bounds of the values that lead to a wanted exit; `None` if there are none.
    fn bounds(&mut self, func: WordFunc, is_wanted: &impl Fn(WordFunc) -> bool) -> Option<Bounds> {
        let mut known = std::mem::take(&mut self.bounds);
        known.begin(func.at() + 1, NO_VALUE);
        let bounds = self.bounds_below(func, 32, is_wanted, &mut known);
        self.bounds = known;
        Some(bounds).filter(|bounds| *bounds != NO_VALUE)
    }

    /// The exit of a value.
    fn follow(&self, mut func: WordFunc, value: u32) -> WordFunc {
        loop {
            let node = &self.nodes[func.at()];
            match node.top() {
                0 => return func,
                bit => func = if value & bit == 0 { node.low } else { node.high },
            }
        }
    }

    /// As [`WordFuncs::bounds`], for the low `bits` of the word. Each recursion has fewer bits.
    fn bounds_below(
        &self,
        func: WordFunc,
        bits: u32,
        is_wanted: &impl Fn(WordFunc) -> bool,
        known: &mut Known<Bounds>,
    ) -> Bounds {
        let node = &self.nodes[func.at()];
        if node.bits == 0 {
            return if is_wanted(func) {
                Bounds { any: bits_below(bits), all: 0 }
            } else {
                NO_VALUE
            };
        }
        let bit = node.bits.ilog2();
        let own = match known.get(func) {
            Some(own) => own,
            None => {
                let mut own = self.bounds_below(node.low, bit, is_wanted, known);
                let high = self.bounds_below(node.high, bit, is_wanted, known);
                if high != NO_VALUE {
                    own = own.union(Bounds { any: high.any | 1 << bit, all: high.all | 1 << bit });
                }
                known.set(func, own);
                own
            }
        };
        // The bits above the tested one are free.
        let free = bits_below(bits) & !bits_below(bit + 1);
        if own == NO_VALUE { own } else { Bounds { any: own.any | free, ..own } }
    }
}

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
