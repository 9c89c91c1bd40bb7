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
