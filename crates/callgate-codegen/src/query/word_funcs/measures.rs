//! Exits, values and bounds of a function of one word.

use super::super::bits::Bounds;
use super::bits_below::bits_below;
use super::func::WordFunc;
use super::known::Known;
use super::nodes::WordFuncs;

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
        let mut known = std::mem::take(&mut self.bounds);
        known.begin(func.at() + 1, NO_VALUE);
        let bounds = self.bounds_below(func, 32, exit, &mut known);
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

    /// As [`WordFuncs::bounds_except`], for the low `bits` of the word. Each recursion has fewer bits.
    fn bounds_below(
        &self,
        func: WordFunc,
        bits: u32,
        exit: WordFunc,
        known: &mut Known<Bounds>,
    ) -> Bounds {
        let node = &self.nodes[func.at()];
        if node.bits == 0 {
            return if func == exit { NO_VALUE } else { Bounds { any: bits_below(bits), all: 0 } };
        }
        let bit = node.bits.ilog2();
        let own = match known.get(func) {
            Some(own) => own,
            None => {
                let mut own = self.bounds_below(node.low, bit, exit, known);
                let high = self.bounds_below(node.high, bit, exit, known);
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
