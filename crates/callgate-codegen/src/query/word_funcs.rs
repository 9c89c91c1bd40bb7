//! Functions of one word in a compact form.
//!
//! The planner of a word asks very many questions about a few functions. So it copies them from the diagram, as far as
//! they test the word. Nodes have small numbers here, greater than those of their children: intermediate results are
//! lists instead of hash tables. A node knows the bits on which it depends. As in the diagram, equal functions are the
//! same node.
//!
//! Every operation counts steps, which the user charges to the budget of the diagram.

use rustc_hash::FxHashMap as HashMap;

use super::bits::{Bounds, memo};
use super::pair_table::PairTable;
use super::partition::Interval;
use callgate_bpf::data::Word;
use callgate_proof::diagram::{Func, Store};

/// A function of the word, or an exit: a function of later words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WordFunc(u32);

impl WordFunc {
    fn at(self) -> usize {
        self.0 as usize
    }

    /// The number of the node, less than 2^31: that many nodes exceed any budget.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Copy)]
struct Node {
    /// The bits that the function depends on; the highest is the one that the node tests. None: an exit.
    bits: u32,
    low: WordFunc,
    high: WordFunc,
    /// The function in the diagram that an exit is.
    exit: Option<Func>,
}

impl Node {
    /// The bit that the node tests, as a mask; 0 for an exit.
    fn top(&self) -> u32 {
        top(self.bits)
    }
}

/// The functions of one word.
pub(crate) struct WordFuncs {
    word: Word,
    nodes: Vec<Node>,
    /// The hash index of the nodes that test a bit, with open addressing: numbers plus one, and 0 for an empty slot. The
    /// size is a power of two, and at most half of the slots are used.
    index: Vec<u32>,
    /// The nodes of functions of the diagram.
    copied: HashMap<Func, WordFunc>,
    visited: Known<()>,
    cofactors: Known<WordFunc>,
    bounds: Known<Bounds>,
    lengths: Known<Length>,
    steps: u64,
}

/// The children of an exit.
const NO_CHILD: WordFunc = WordFunc(u32::MAX);

/// The bounds of no value: the neutral element of their union.
const NO_VALUE: Bounds = Bounds { any: 0, all: u32::MAX };

/// The bounds of sets of values that no bit separates from the others.
const ANY_VALUE: Bounds = Bounds { any: u32::MAX, all: 0 };

/// The results of a traversal, per node. They are forgotten by the next traversal, without work for nodes that it does not
/// visit.
struct Known<T> {
    results: Vec<(u32, T)>,
    traversal: u32,
}

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known { results: Vec::new(), traversal: 0 }
    }
}

impl<T: Copy> Known<T> {
    /// Begins a traversal of some of the first `nodes` nodes.
    fn begin(&mut self, nodes: usize, any: T) {
        if self.results.len() < nodes {
            self.results.resize(nodes, (0, any));
        }
        self.traversal += 1;
    }

    fn get(&self, func: WordFunc) -> Option<T> {
        let (traversal, result) = self.results[func.at()];
        (traversal == self.traversal).then_some(result)
    }

    fn set(&mut self, func: WordFunc, result: T) {
        self.results[func.at()] = (self.traversal, result);
    }
}

/// The number of intervals of the values below a bit, and the exits of the first and the last one.
#[derive(Clone, Copy)]
struct Length {
    intervals: u32,
    first: WordFunc,
    last: WordFunc,
}

/// How large a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The number of nodes, without exits.
    pub(crate) nodes: usize,
    /// The number of intervals of [`WordFuncs::partition`], saturating.
    pub(crate) intervals: usize,
}

impl WordFuncs {
    pub(crate) fn new(word: Word) -> WordFuncs {
        WordFuncs {
            word,
            nodes: Vec::new(),
            index: vec![0; 128],
            copied: memo(),
            visited: Known::default(),
            cofactors: Known::default(),
            bounds: Known::default(),
            lengths: Known::default(),
            steps: 0,
        }
    }

    /// The steps since the last call.
    pub(crate) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    /// A function of the diagram, which tests no earlier word. The recursion depth is that of the bits of a word.
    pub(crate) fn copy(&mut self, store: &Store, func: Func) -> WordFunc {
        if let Some(copied) = self.copied.get(&func) {
            return *copied;
        }
        let copied = if store.top_word(func) == Some(self.word) {
            let (var, low, high) = store.branch(func);
            let (low, high) = (self.copy(store, low), self.copy(store, high));
            self.node(1 << (31 - u32::from(var % 32)), low, high)
        } else {
            self.add(Node { bits: 0, low: NO_CHILD, high: NO_CHILD, exit: Some(func) })
        };
        self.copied.insert(func, copied);
        copied
    }

    /// The function in the diagram that an exit is.
    pub(crate) fn as_exit(&self, func: WordFunc) -> Option<Func> {
        self.nodes[func.at()].exit
    }

    pub(crate) fn is_exit(&self, func: WordFunc) -> bool {
        self.bits(func) == 0
    }

    /// The bits on which a function depends.
    pub(crate) fn bits(&self, func: WordFunc) -> u32 {
        self.nodes[func.at()].bits
    }

    /// The most significant bit on which a function depends, as a mask; 0 for an exit.
    pub(crate) fn top_bit(&self, func: WordFunc) -> u32 {
        top(self.bits(func))
    }

    /// The two functions that remain after the test of the most significant bit.
    pub(crate) fn children(&self, func: WordFunc) -> [WordFunc; 2] {
        let node = &self.nodes[func.at()];
        if node.bits == 0 { [func; 2] } else { [node.low, node.high] }
    }

    /// Two exits that are no functions of the diagram.
    pub(super) fn add_exits(&mut self) -> [WordFunc; 2] {
        let exit = Node { bits: 0, low: NO_CHILD, high: NO_CHILD, exit: None };
        [self.add(exit), self.add(exit)]
    }

    fn add(&mut self, node: Node) -> WordFunc {
        let func = WordFunc(self.nodes.len() as u32);
        self.nodes.push(node);
        func
    }

    /// The node that tests a bit, given as a mask, above all bits of its children.
    pub(super) fn node(&mut self, bit: u32, low: WordFunc, high: WordFunc) -> WordFunc {
        self.steps += 1;
        if low == high {
            return low;
        }
        let (slot, found) = self.slot(bit, low, high);
        if let Some(found) = found {
            return found;
        }
        let bits = bit | self.bits(low) | self.bits(high);
        let func = self.add(Node { bits, low, high, exit: None });
        self.index[slot] = func.0 + 1;
        if self.nodes.len() * 2 > self.index.len() {
            self.index = vec![0; self.index.len() * 4];
            for at in 0..self.nodes.len() {
                let node = self.nodes[at];
                if node.bits != 0 {
                    let (slot, _) = self.slot(node.top(), node.low, node.high);
                    self.index[slot] = at as u32 + 1;
                }
            }
        }
        func
    }

    /// The slot of a node in the index, and its number if it exists.
    fn slot(&self, bit: u32, low: WordFunc, high: WordFunc) -> (usize, Option<WordFunc>) {
        let hash = (u64::from(low.0) << 32 | u64::from(high.0)) ^ u64::from(bit.ilog2()) << 27;
        let mask = self.index.len() - 1;
        let mut slot = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while let Some(at) = self.index[slot].checked_sub(1) {
            let node = &self.nodes[at as usize];
            if node.low == low && node.high == high && node.top() == bit {
                return (slot, Some(WordFunc(at)));
            }
            slot = (slot + 1) & mask;
        }
        (slot, None)
    }

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
            return if func == exit { NO_VALUE } else { Bounds { any: below(bits), all: 0 } };
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
        let free = below(bits) & !below(bit + 1);
        if own == NO_VALUE { own } else { Bounds { any: own.any | free, ..own } }
    }

    /// The function with the exit `all` where this one has `exit`, and `none` elsewhere.
    pub(super) fn indicator(
        &mut self,
        func: WordFunc,
        exit: WordFunc,
        [none, all]: [WordFunc; 2],
    ) -> WordFunc {
        let mut known = std::mem::take(&mut self.cofactors);
        known.begin(func.at() + 1, NO_CHILD);
        let result = self.indicator_below(func, exit, [none, all], &mut known);
        self.cofactors = known;
        result
    }

    /// Each recursion is at a later bit.
    fn indicator_below(
        &mut self,
        func: WordFunc,
        exit: WordFunc,
        [none, all]: [WordFunc; 2],
        known: &mut Known<WordFunc>,
    ) -> WordFunc {
        let node = self.nodes[func.at()];
        if node.bits == 0 {
            return if func == exit { all } else { none };
        }
        if let Some(known) = known.get(func) {
            return known;
        }
        let low = self.indicator_below(node.low, exit, [none, all], known);
        let high = self.indicator_below(node.high, exit, [none, all], known);
        let result = self.node(node.top(), low, high);
        known.set(func, result);
        result
    }

    /// The cofactor of a function for the bits `mask` equal to those of `value`.
    pub(crate) fn fix_bits(&mut self, func: WordFunc, mask: u32, value: u32) -> WordFunc {
        let mut known = std::mem::take(&mut self.cofactors);
        known.begin(func.at() + 1, NO_CHILD);
        let cofactor = self.fix_bits_below(func, mask, value, &mut known);
        self.cofactors = known;
        cofactor
    }

    /// Each recursion is at a later bit.
    fn fix_bits_below(
        &mut self,
        func: WordFunc,
        mask: u32,
        value: u32,
        known: &mut Known<WordFunc>,
    ) -> WordFunc {
        let node = self.nodes[func.at()];
        if node.bits & mask == 0 {
            return func;
        }
        if let Some(known) = known.get(func) {
            return known;
        }
        let bit = node.top();
        let result = if mask & bit != 0 {
            let kept = if value & bit != 0 { node.high } else { node.low };
            self.fix_bits_below(kept, mask, value, known)
        } else {
            let low = self.fix_bits_below(node.low, mask, value, known);
            let high = self.fix_bits_below(node.high, mask, value, known);
            self.node(bit, low, high)
        };
        known.set(func, result);
        result
    }

    /// The function with the same exit where it does not depend on the `free` bits, and `otherwise` where it does.
    pub(crate) fn independent_of(
        &mut self,
        func: WordFunc,
        free: u32,
        otherwise: WordFunc,
    ) -> WordFunc {
        let mut known = std::mem::take(&mut self.cofactors);
        known.begin(func.at() + 1, NO_CHILD);
        let result =
            self.independent_below(func, free, otherwise, &mut PairTable::new(), &mut known);
        self.cofactors = known;
        result
    }

    /// Each recursion is at a later bit.
    fn independent_below(
        &mut self,
        func: WordFunc,
        free: u32,
        otherwise: WordFunc,
        agreed: &mut PairTable,
        known: &mut Known<WordFunc>,
    ) -> WordFunc {
        let node = self.nodes[func.at()];
        if node.bits & free == 0 {
            return func;
        }
        if let Some(known) = known.get(func) {
            return known;
        }
        let low = self.independent_below(node.low, free, otherwise, agreed, known);
        let high = self.independent_below(node.high, free, otherwise, agreed, known);
        let bit = node.top();
        let result = if free & bit != 0 {
            let merge = Merge { same: None, different: Some(otherwise) };
            self.merged(low, high, merge, agreed)
        } else {
            self.node(bit, low, high)
        };
        known.set(func, result);
        result
    }

    /// The function that is `a` where `a` and `b` differ, and `otherwise` where they are equal.
    pub(crate) fn disagreement(
        &mut self,
        a: WordFunc,
        b: WordFunc,
        otherwise: WordFunc,
    ) -> WordFunc {
        let merge = Merge { same: Some(otherwise), different: None };
        self.merged(a, b, merge, &mut PairTable::new())
    }

    /// Merges two functions, value by value. Each recursion is at a later bit.
    fn merged(&mut self, a: WordFunc, b: WordFunc, merge: Merge, done: &mut PairTable) -> WordFunc {
        if a == b {
            return merge.same.unwrap_or(a);
        }
        // Where `a` has this exit as well, it is the result.
        if merge.different.is_none() && merge.same == Some(b) {
            return a;
        }
        // One of them has this exit everywhere, so it is the result whether they differ or not.
        if merge.same.is_none() && (merge.different == Some(a) || merge.different == Some(b)) {
            return merge.different.unwrap_or(a);
        }
        let bit = top(self.bits(a) | self.bits(b));
        if bit == 0 {
            return merge.different.unwrap_or(a);
        }
        if let Some(done) = done.get(0, a, b) {
            return done;
        }
        let sides = |func| if self.top_bit(func) == bit { self.children(func) } else { [func; 2] };
        let ([a0, a1], [b0, b1]) = (sides(a), sides(b));
        let low = self.merged(a0, b0, merge, done);
        let high = self.merged(a1, b1, merge, done);
        let result = self.node(bit, low, high);
        done.insert(0, a, b, result);
        result
    }

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
        let free = mask & below(bits) & !below(bit + 1);
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
                let last = first | (below(bits) & mask);
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

impl Length {
    /// The length of these values and then others.
    fn followed_by(self, next: Length) -> Length {
        let joined = u32::from(self.last == next.first);
        let intervals = self.intervals.saturating_add(next.intervals - joined);
        Length { intervals, first: self.first, last: next.last }
    }
}

/// The result where two functions are equal and where they differ; `None` stands for the first function.
#[derive(Clone, Copy)]
struct Merge {
    same: Option<WordFunc>,
    different: Option<WordFunc>,
}

/// The most significant bit of some bits.
fn top(bits: u32) -> u32 {
    bits.checked_ilog2().map_or(0, |bit| 1 << bit)
}

/// All bits below this one.
fn below(bit: u32) -> u32 {
    ((1u64 << bit) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Verdict;
    use callgate_proof::diagram::{Split, var_of};

    const WORD: fn() -> Word = || Word::arg_low(0).unwrap();

    /// Some values that are allowed, and the exits for them and for the others.
    fn allowed(store: &mut Store, values: impl IntoIterator<Item = u32>) -> [Func; 3] {
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let func = values.into_iter().fold(deny, |func, value| {
            store.split(WORD(), Split::Equal(value), allow, func).unwrap()
        });
        [func, allow, deny]
    }

    /// The same function in the diagram.
    fn in_store(funcs: &WordFuncs, store: &mut Store, func: WordFunc) -> Func {
        match funcs.as_exit(func) {
            Some(exit) => exit,
            None => {
                let [low, high] = funcs.children(func).map(|func| in_store(funcs, store, func));
                store.make(var_of(WORD(), funcs.top_bit(func).ilog2()), low, high).unwrap()
            }
        }
    }

    #[test]
    fn a_function_splits_into_parts_that_depend_on_bits_and_do_not() {
        let free = 0b0110;
        for set in (0..=u16::MAX).step_by(11) {
            let mut store = Store::default();
            let values = (0..16u32).filter(|value| set >> value & 1 == 1);
            let copied = allowed(&mut store, values);
            let [allow, deny] = [copied[1], copied[2]];
            let mut funcs = WordFuncs::new(WORD());
            let [func, _, otherwise] = copied.map(|func| funcs.copy(&store, func));
            let func = funcs.fix_bits(func, !15, 0);
            let agreed = funcs.independent_of(func, free, otherwise);
            let rest = funcs.disagreement(func, agreed, otherwise);
            let [agreed, rest] = [agreed, rest].map(|func| in_store(&funcs, &mut store, func));
            for value in 0..16u32 {
                let others = (0..16u32).filter(|other| other & !free == value & !free);
                let all = others.clone().all(|other| set >> other & 1 == 1);
                let wanted = if all { allow } else { deny };
                assert_eq!(store.follow(agreed, WORD(), value), wanted);
                let alone = !all && set >> value & 1 == 1;
                assert_eq!(store.follow(rest, WORD(), value), if alone { allow } else { deny });
            }
        }
    }

    /// Beyond the first sizes of the index; the same functions as in the diagram.
    #[test]
    fn equal_functions_are_the_same_node() {
        let mut store = Store::default();
        let values = (0..2000u32).map(|i| i.wrapping_mul(0x9e37_79b9));
        let [func, ..] = allowed(&mut store, values);
        let mut funcs = WordFuncs::new(WORD());
        let copy = funcs.copy(&store, func);
        assert_eq!(funcs.bits(copy), u32::MAX);
        let nodes = funcs.nodes.len();
        let [low, high] = funcs.children(copy);
        assert_eq!(funcs.node(1 << 31, low, high), copy);
        assert_eq!(funcs.fix_bits(copy, 1 << 31, 1 << 31), high);
        assert_eq!(funcs.nodes.len(), nodes);
        assert!(nodes > 20_000 && funcs.size(copy, u32::MAX).nodes == nodes - 2);
        assert!(funcs.take_steps() > nodes as u64 && funcs.take_steps() == 0);
        let half = funcs.fix_bits(copy, 2, 0);
        let half = in_store(&funcs, &mut store, half);
        for value in (0..4000u32).map(|i| i.wrapping_mul(0x9e37_79b9)) {
            let wanted = store.follow(func, WORD(), value & !2);
            assert_eq!(store.follow(half, WORD(), value), wanted);
        }
    }

    #[test]
    fn untested_bits_and_bits_outside_of_the_mask() {
        let mut store = Store::default();
        let [_, allow, deny] = allowed(&mut store, []);
        let set = store.any_bit(WORD(), 1 << 29).unwrap();
        let func = store.select(set, deny, allow).unwrap();
        let mut funcs = WordFuncs::new(WORD());
        let func = funcs.copy(&store, func);
        assert_eq!(funcs.size(func, u32::MAX), Size { nodes: 1, intervals: 8 });
        assert_eq!(funcs.partition(func, u32::MAX).len(), 8);
        let [allow, deny] = [allow, deny].map(|exit| funcs.copy(&store, exit));
        let interval = |first, last, then| Interval { first, last, then };
        let half = 1 << 29;
        assert_eq!(
            funcs.partition(func, half | 3),
            vec![interval(0, 3, allow), interval(half, half | 3, deny)]
        );
        assert_eq!(funcs.size(func, half | 3), Size { nodes: 1, intervals: 2 });
        assert_eq!(
            funcs.partition(allow, 6),
            vec![interval(0, 6, allow)],
            "an exit is one interval"
        );
        assert_eq!(funcs.exits(func, 2), Some(vec![allow, deny]));
        assert_eq!(funcs.exits(func, 1), None);
    }
}
