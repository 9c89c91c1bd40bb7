//! Conjunctions of equalities, such as `a == 3 && b & 6 == 2`.
//!
//! A conjunction selects only along the path of the bits that it compares. So it needs no predicate, and the functions no
//! if-then-else. Those that compare the same bits are selected together: one after the other would rebuild the nodes that
//! they have in common.

use std::ops::Range;

use rustc_hash::FxHashMap as HashMap;

use super::compare::var_of;
use super::node::Node;
use super::node_table::Stored;
use super::{DiagramError, Store, Var};
use crate::policy::{Cmp, Condition, Shape, Test};
use crate::{Layout, Word};

/// Words that must have some bits. The order is by the compared bits, then by their values.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Conjunction {
    /// The words, each once and in their order, with the compared bits.
    compared: Vec<(Word, u32)>,
    /// The values of these bits.
    values: Vec<u32>,
}

impl Conjunction {
    /// Compares bits of a word with their values; false if no input can fulfill that.
    fn compare(&mut self, word: Word, mask: u32, value: u32) -> bool {
        if mask == 0 {
            return true;
        }
        let at = self.compared.partition_point(|(other, _)| *other < word);
        match (self.compared.get_mut(at), self.values.get_mut(at)) {
            (Some((other, bits)), Some(values)) if *other == word => {
                let agrees = (*values ^ value) & (*bits & mask) == 0;
                *bits |= mask;
                *values |= value;
                agrees
            }
            _ => {
                self.compared.insert(at, (word, mask));
                self.values.insert(at, value);
                true
            }
        }
    }

    /// As [`Conjunction::compare`], for a test of a field.
    fn compare_field(&mut self, test: &Test) -> bool {
        let mask = test.mask & test.field.full_mask();
        if test.value & !mask != 0 {
            return false;
        }
        let shift = test.field.shift();
        let low = [mask, test.value].map(|bits| (bits as u32) << shift);
        let high = [mask, test.value].map(|bits| (bits >> 32) as u32);
        let mut holds = self.compare(test.field.low_word(), low[0], low[1]);
        if let Some(word) = test.field.high_word() {
            holds &= self.compare(word, high[0], high[1]);
        }
        holds
    }

    /// The place of the compared bits from which on a word is the next one.
    fn place(&self, word: usize) -> Place {
        Place { word, bits: self.compared.get(word).map_or(0, |(_, bits)| *bits) }
    }

    /// The variable of the next bit, and the place after it; `None` behind all bits.
    fn next(&self, place: Place) -> Option<(Var, Place)> {
        let (word, _) = self.compared.get(place.word)?;
        let bit = place.bits.checked_ilog2()?;
        let bits = place.bits ^ 1 << bit;
        let after = if bits == 0 { self.place(place.word + 1) } else { Place { bits, ..place } };
        Some((var_of(*word, bit), after))
    }

    /// The variable of the last bit.
    fn last(&self) -> Option<Var> {
        let (word, bits) = self.compared.last()?;
        Some(var_of(*word, bits.trailing_zeros()))
    }

    /// The value of a bit of the word at a place.
    fn has(&self, place: Place, var: Var) -> bool {
        self.values.get(place.word).is_some_and(|value| value >> (31 - var % 32) & 1 == 1)
    }
}

/// Which of the compared bits come next: the number of a word, and its bits that are left.
#[derive(Clone, Copy)]
struct Place {
    word: usize,
    bits: u32,
}

/// Conjunctions with the same result, in order.
#[derive(Debug, Default)]
pub(super) struct Conjunctions(Vec<Conjunction>);

impl Conjunctions {
    /// The maximum number of conjunctions: so few are cheap to keep in order.
    const MAX: usize = 1 << 9;

    /// Whether no more can be added before they are selected.
    pub(super) fn are_full(&self) -> bool {
        self.0.len() >= Conjunctions::MAX
    }

    /// Adds a condition that is an equality of fields of this layout, or several that must all hold. For any other
    /// condition, or if there are too many, it returns false and adds nothing.
    pub(super) fn add(&mut self, condition: &Condition, layout: Layout) -> bool {
        let one = std::slice::from_ref(condition);
        let parts = if let Shape::All(parts) = condition.shape() { parts } else { one };
        let mut all = Conjunction::default();
        let mut possible = true;
        for part in parts {
            match part.shape() {
                _ if self.are_full() => return false,
                Shape::Test(test) if test.cmp == Cmp::Eq && test.field.layout() == layout => {
                    possible &= all.compare_field(test);
                }
                _ => return false,
            }
        }
        if possible {
            let at = self.0.partition_point(|other| *other < all);
            self.0.insert(at, all);
        }
        true
    }

    /// The conjunction of words that must have these values.
    pub(super) fn of_words(values: &[(Word, u32)]) -> Conjunctions {
        let mut all = Conjunction::default();
        let possible = values.iter().all(|(word, value)| all.compare(*word, u32::MAX, *value));
        Conjunctions(possible.then_some(all).into_iter().collect())
    }

    /// The node `then` where one of the conjunctions holds, `otherwise` elsewhere; leaves no conjunctions.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn select<N: Node>(
        &mut self,
        store: &mut Store,
        then: N,
        otherwise: N,
    ) -> Result<N, DiagramError> {
        let id = self.select_id(store, then.id(), otherwise.id())?;
        Ok(store.handle(id))
    }

    fn select_id(
        &mut self,
        store: &mut Store,
        then: u32,
        otherwise: u32,
    ) -> Result<u32, DiagramError> {
        let all = std::mem::take(&mut self.0);
        let mut node = otherwise;
        for same in all.chunk_by(|a, b| a.compared == b.compared).rev() {
            let mut selection = Selection { all: same, known: HashMap::default() };
            let Some(first) = same.first() else { continue };
            node = selection.node(store, (0..same.len(), first.place(0)), [then, node])?;
        }
        Ok(node)
    }
}

/// The selection between two nodes by conjunctions that compare the same bits, in the order of their values.
struct Selection<'c> {
    all: &'c [Conjunction],
    /// By the range of conjunctions, the place from which on they count, and both nodes.
    known: HashMap<Vec<u32>, u32>,
}

impl Selection<'_> {
    /// The node that is the first of two where one of these conjunctions holds from a place on, and the second elsewhere.
    /// The recursion depth is the number of variables.
    fn node(
        &mut self,
        store: &mut Store,
        (mut range, mut place): (Range<usize>, Place),
        mut nodes: [u32; 2],
    ) -> Result<u32, DiagramError> {
        let [start, end, word] = [range.start, range.end, place.word].map(|number| number as u32);
        let key = [start, end, word, place.bits, nodes[0], nodes[1]];
        if let Some(known) = self.known.get(&key[..]) {
            return Ok(*known);
        }
        // Nodes are charged when they are made, and the entries of `known` here.
        store.charge()?;
        let mut stored = nodes.map(|node| store.stored_at(node));
        // Where one child of a node is known at once, only the other one is followed: the variables, whether that is the
        // high child, and the known one.
        let mut path: Vec<(Var, bool, u32)> = Vec::with_capacity(32);
        let mut selected = loop {
            let list = self.all.get(range.clone()).unwrap_or_default();
            let [then, otherwise] = nodes;
            let Some(first) = list.first().filter(|_| then != otherwise) else { break otherwise };
            let Some((next, after)) = first.next(place) else { break then };
            let top = stored[0].test().min(stored[1].test());
            if list.len() == 1 && first.last().is_some_and(|last| last < top) {
                break first.select_from(store, place, nodes)?;
            }
            let (var, [low_range, high_range]) = if top < next {
                (top, [range.clone(), range])
            } else {
                let middle = range.start + list.partition_point(|of| !of.has(place, next));
                place = after;
                (next, [range.start..middle, middle..range.end])
            };
            let [low, high] = children(var, nodes, stored);
            let is_known = |range: &Range<usize>, [then, otherwise]: [u32; 2]| {
                range.is_empty() || then == otherwise
            };
            let followed = match [is_known(&low_range, low), is_known(&high_range, high)] {
                [true, _] => {
                    path.push((var, true, low[1]));
                    range = high_range;
                    high
                }
                [_, true] => {
                    path.push((var, false, high[1]));
                    range = low_range;
                    low
                }
                _ => {
                    let low = self.node(store, (low_range, place), low)?;
                    let high = self.node(store, (high_range, place), high)?;
                    break store.node(var, low, high)?;
                }
            };
            for ((node, stored), next) in nodes.iter_mut().zip(&mut stored).zip(followed) {
                if *node != next {
                    (*node, *stored) = (next, store.stored_at(next));
                }
            }
        };
        for (var, is_high, known) in path.into_iter().rev() {
            let (low, high) = if is_high { (known, selected) } else { (selected, known) };
            selected = store.node(var, low, high)?;
        }
        self.known.insert(key.to_vec(), selected);
        Ok(selected)
    }
}

/// The low children of two nodes, and the high ones.
#[inline]
fn children(var: Var, nodes: [u32; 2], stored: [Stored; 2]) -> [[u32; 2]; 2] {
    let (mut low, mut high) = (nodes, nodes);
    for ((stored, low), high) in stored.iter().zip(&mut low).zip(&mut high) {
        if stored.tests(var) {
            (*low, *high) = (stored.low, stored.high);
        }
    }
    [low, high]
}

impl Conjunction {
    /// The first node where the conjunction holds from a place on, and the second elsewhere; both test only later variables.
    fn select_from(
        &self,
        store: &mut Store,
        place: Place,
        [then, otherwise]: [u32; 2],
    ) -> Result<u32, DiagramError> {
        let mut selected = then;
        let words = self.compared.iter().zip(&self.values).enumerate().skip(place.word);
        for (number, ((word, bits), value)) in words.rev() {
            let mut left = if number == place.word { place.bits } else { *bits };
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let is_high = value >> bit & 1 == 1;
                let (low, high) =
                    if is_high { (otherwise, selected) } else { (selected, otherwise) };
                selected = store.node(var_of(*word, bit), low, high)?;
            }
        }
        Ok(selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Budget, Func, Pred};
    use crate::policy::Field;
    use crate::{Endian, Verdict};

    /// Conjunctions of equalities of the same and of different fields, with and without masks, some of them impossible,
    /// between functions that test the same variables and others.
    #[test]
    fn conjunctions_select_as_their_predicates() {
        let fields: Vec<Field> =
            (0..3).flat_map(|i| [Field::arg(i), Field::arg_low(i)]).flatten().collect();
        let values = [0, 1, 2, 6, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let masks = [u64::MAX, 0xffff_ffff, 6, 0x1_0000_0001];
        let mut store = Store::new(Budget::default());
        let mut funcs: Vec<Func> =
            (0..4).map(|errno| store.verdict(Verdict::errno(errno)).unwrap()).collect();
        let (mut all, mut any, mut never) = (Conjunctions::default(), Pred::NEVER, 0);
        for step in 0..800usize {
            let mut predicate = Pred::ALWAYS;
            let tests: Vec<Condition> = (0..1 + step % 4)
                .map(|k| {
                    let at = step * 7 + k * (5 + step % 3);
                    let mask = masks[at / 7 % 4];
                    let value = values[at / 5 % 7] & if step % 5 == 0 { u64::MAX } else { mask };
                    let test = Test::eq(fields[at % fields.len()], value);
                    let test = Test { mask: mask & test.field.full_mask(), ..test };
                    let holds = store.test(&test).unwrap();
                    predicate = store.and(predicate, holds).unwrap();
                    Condition::test(test)
                })
                .collect();
            let condition = Condition::all(tests);
            never += usize::from(predicate == Pred::NEVER);
            let [then, otherwise] = [step * 3, step * 5 + 1].map(|at| funcs[at % funcs.len()]);
            let mut one = Conjunctions::default();
            assert!(one.add(&condition, Layout::Seccomp), "{condition:?}");
            let selected = one.select(&mut store, then, otherwise).unwrap();
            let expected = store.select(predicate, then, otherwise).unwrap();
            assert_eq!(selected, expected, "{step}: {condition:?}");
            // Together with those before it.
            assert!(all.add(&condition, Layout::Seccomp));
            any = store.or(any, predicate).unwrap();
            if step % 7 == 0 {
                let selected = all.select(&mut store, then, otherwise).unwrap();
                assert_eq!(selected, store.select(any, then, otherwise).unwrap(), "{step}");
                any = Pred::NEVER;
            }
            match funcs.len() {
                12 => funcs[4 + step % 8] = selected,
                _ => funcs.push(selected),
            }
        }
        assert!((50..600).contains(&never), "{never}");
    }

    #[test]
    fn words_with_two_values_never_hold() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let [a, b] = [0, 1].map(|arg| Word::arg_low(arg).unwrap());
        let mut select =
            |values: &[_]| Conjunctions::of_words(values).select(&mut store, allow, deny).unwrap();
        assert_eq!(select(&[(a, 6), (b, 1), (a, 7)]), deny);
        assert_eq!(select(&[]), allow);
        let both = select(&[(b, 0x8000_0001), (a, 6), (a, 6)]);
        assert_eq!(store.follow(store.follow(both, a, 6), b, 0x8000_0001), allow);
        assert_eq!(store.follow(both, a, 7), deny);
    }

    #[test]
    fn other_conditions_are_not_added() {
        let field = Field::arg(0).unwrap();
        let [equal, less] = [Cmp::Eq, Cmp::Lt].map(|cmp| Condition::test(Test::new(field, cmp, 3)));
        let others = [
            less.clone(),
            Condition::all([equal.clone(), less.clone()]),
            Condition::any([equal.clone(), less]),
        ];
        let mut all = Conjunctions::default();
        assert!(!others.iter().any(|other| all.add(other, Layout::Seccomp)));
        assert!(!all.add(&equal, Layout::IoUring(Endian::Little)));
        assert!(all.0.is_empty());
        assert!((0..Conjunctions::MAX).all(|_| all.add(&equal, Layout::Seccomp)));
        assert!(!all.add(&equal, Layout::Seccomp));
    }
}
