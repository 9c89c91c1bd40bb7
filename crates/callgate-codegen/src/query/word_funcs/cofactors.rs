//! Functions of one word that are derived from others.

use super::nodes::{Known, NO_CHILD, PairTable, WordFunc, WordFuncs};

impl WordFuncs {
    /// The function with the exit `all` where this one has `exit`, and `none` elsewhere.
    pub(super) fn indicator(
        &mut self,
        func: WordFunc,
        exit: WordFunc,
        [none, all]: [WordFunc; 2],
    ) -> WordFunc {
        let end = |of: WordFunc, bits: u32| match bits {
            0 => Some(if of == exit { all } else { none }),
            _ => None,
        };
        self.transformed(func, &end, &mut |funcs, bit, low, high| funcs.node(bit, low, high))
    }

    /// Transforms a function bottom-up. `end` gets each node and the bits on which it depends; if it returns a result, that
    /// replaces the node. Otherwise both children are transformed, and `join` combines the bit of the node with their results.
    fn transformed(
        &mut self,
        func: WordFunc,
        end: &impl Fn(WordFunc, u32) -> Option<WordFunc>,
        join: &mut impl FnMut(&mut WordFuncs, u32, WordFunc, WordFunc) -> WordFunc,
    ) -> WordFunc {
        let mut known = std::mem::take(&mut self.cofactors);
        known.begin(func.at() + 1, NO_CHILD);
        let result = self.transformed_below(func, end, join, &mut known);
        self.cofactors = known;
        result
    }

    /// Each recursion is at a later bit.
    fn transformed_below(
        &mut self,
        func: WordFunc,
        end: &impl Fn(WordFunc, u32) -> Option<WordFunc>,
        join: &mut impl FnMut(&mut WordFuncs, u32, WordFunc, WordFunc) -> WordFunc,
        known: &mut Known<WordFunc>,
    ) -> WordFunc {
        let node = self.nodes[func.at()];
        if let Some(done) = end(func, node.bits).or_else(|| known.get(func)) {
            return done;
        }
        let low = self.transformed_below(node.low, end, join, known);
        let high = self.transformed_below(node.high, end, join, known);
        let result = join(self, node.top(), low, high);
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
        let merge = Merge { same: None, different: Some(otherwise) };
        let mut agreed = PairTable::new();
        let end = |of: WordFunc, bits: u32| (bits & free == 0).then_some(of);
        self.transformed(func, &end, &mut |funcs, bit, low, high| match free & bit {
            0 => funcs.node(bit, low, high),
            _ => funcs.merged(low, high, merge, &mut agreed),
        })
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
        let bit = self.top_bit(a).max(self.top_bit(b));
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
}

/// The result where two functions are equal and where they differ; `None` stands for the first function.
#[derive(Clone, Copy)]
struct Merge {
    same: Option<WordFunc>,
    different: Option<WordFunc>,
}
