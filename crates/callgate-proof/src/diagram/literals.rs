//! Conjunctions of bits, such as `a == 3 && b & 6 == 2`, as the list of these bits.
//!
//! Such a condition selects only along the path of its bits. So it needs no predicate, and the functions no if-then-else.

use std::ops::Range;

use rustc_hash::FxHashMap as HashMap;

use super::compare::{var_of, var_of_field};
use super::node::Node;
use super::{DiagramError, Store, Var};
use crate::policy::{Cmp, Condition, Shape, Test};
use callgate_bpf::Layout;
use callgate_bpf::data::Word;

/// A variable, and the value that it must have.
type Literal = (Var, bool);

/// The literals of a condition by variable, each variable once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Literals {
    All(Vec<Literal>),
    /// No input fulfills the condition.
    Never,
}

impl Literals {
    /// The literals of a condition on a layout, if it is an equality, or several that must all hold.
    pub(super) fn of(condition: &Condition, layout: Layout) -> Option<Literals> {
        let one = std::slice::from_ref(condition);
        let mut tests: Vec<&Test> = Vec::new();
        for part in if let Shape::All(parts) = condition.shape() { parts } else { one } {
            match part.shape() {
                Shape::Test(test) if test.cmp == Cmp::Eq && test.field.layout() == layout => {
                    tests.push(test);
                }
                _ => return None,
            }
        }
        tests.sort_by_key(|test| test.field);
        let bits = tests.iter().map(|test| test.field.bits() as usize).sum();
        let mut literals = Vec::with_capacity(bits);
        for test in tests {
            let mask = test.mask & test.field.full_mask();
            if test.value & !mask != 0 {
                return Some(Literals::Never);
            }
            let bits = (0..test.field.bits()).rev().filter(|bit| mask >> bit & 1 == 1);
            let literal = |bit| (var_of_field(test.field, bit), test.value >> bit & 1 == 1);
            literals.extend(bits.map(literal));
        }
        Some(Literals::sorted(literals))
    }

    /// The literals of words that must have these values.
    pub(super) fn of_words(mut values: Vec<(Word, u32)>) -> Literals {
        values.sort_by_key(|(word, _)| *word);
        let literal = |word, value: u32, bit| (var_of(word, bit), value >> bit & 1 == 1);
        let of_word = |(word, value)| (0..32).rev().map(move |bit| literal(word, value, bit));
        Literals::sorted(values.into_iter().flat_map(of_word).collect())
    }

    /// Fields may have words in common, or occur several times.
    fn sorted(mut literals: Vec<Literal>) -> Literals {
        let is_sorted = |literals: &[Literal]| literals.is_sorted_by(|(a, _), (b, _)| a < b);
        if !is_sorted(&literals) {
            literals.sort_unstable();
            literals.dedup();
            // A variable that is left twice must have both values.
            if !is_sorted(&literals) {
                return Literals::Never;
            }
        }
        Literals::All(literals)
    }
}

/// Conditions with the same verdict. Those that have literals for the same variables are selected together: one after the
/// other would rebuild the nodes that they have in common.
#[derive(Debug, Default)]
pub(super) struct Conjunctions(Vec<Vec<Literal>>);

impl Conjunctions {
    /// The maximum number of conditions, whose literals are about 1 MB.
    const MAX: usize = 1 << 11;

    pub(super) fn add(&mut self, literals: Literals) {
        if let Literals::All(literals) = literals {
            self.0.push(literals);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= Conjunctions::MAX
    }

    /// The node `then` where one of the conditions holds, `otherwise` elsewhere; leaves no conditions.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn select<N: Node>(
        &mut self,
        store: &mut Store,
        then: N,
        otherwise: N,
    ) -> Result<N, DiagramError> {
        let mut all = std::mem::take(&mut self.0);
        // Those with the same variables follow each other, in the order of their values.
        all.sort_unstable_by(|a, b| vars(a).cmp(vars(b)).then_with(|| a.cmp(b)));
        let mut id = otherwise.id();
        for same in all.chunk_by(|a, b| vars(a).eq(vars(b))).rev() {
            let mut selection = Selection { all: same, known: HashMap::default() };
            id = selection.node(store, (0..same.len(), 0), [then.id(), id])?;
        }
        Ok(store.handle(id))
    }
}

fn vars(literals: &[Literal]) -> impl Iterator<Item = Var> {
    literals.iter().map(|(var, _)| *var)
}

/// The selection between two nodes by conjunctions of literals for the same variables, in the order of their values.
struct Selection<'l> {
    all: &'l [Vec<Literal>],
    known: HashMap<(Range<usize>, usize, [u32; 2]), u32>,
}

impl Selection<'_> {
    /// The node that is the first of two where one of these conjunctions holds from a literal on, and the second elsewhere.
    /// They have the same literals before that. The recursion depth is the number of variables.
    fn node(
        &mut self,
        store: &mut Store,
        (range, literal): (Range<usize>, usize),
        nodes: [u32; 2],
    ) -> Result<u32, DiagramError> {
        let key = (range, literal, nodes);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let (mut range, mut literal, mut nodes) = key.clone();
        let mut stored = nodes.map(|node| store.stored_at(node));
        // Where one child of a node is known at once, only the other one is followed: the variables, whether that is the
        // high child, and the known one.
        let mut path: Vec<(Var, bool, u32)> = Vec::new();
        let mut selected = loop {
            let list = self.all.get(range.clone()).unwrap_or_default();
            let [then, otherwise] = nodes;
            let Some(first) = list.first().filter(|_| then != otherwise) else { break otherwise };
            let literals = first.get(literal..).unwrap_or_default();
            let (Some((next, _)), Some((last, _))) = (literals.first(), literals.last()) else {
                break then;
            };
            let top = stored[0].test().min(stored[1].test());
            if list.len() == 1 && *last < top {
                break store.all_of(literals, nodes)?;
            }
            let (var, below) = if top < *next {
                (top, [range.clone(), range])
            } else {
                let is_low = |of: &Vec<Literal>| of.get(literal).is_some_and(|(_, value)| !*value);
                let middle = range.start + list.partition_point(is_low);
                literal += 1;
                (*next, [range.start..middle, middle..range.end])
            };
            let [low_range, high_range] = below;
            let (mut low, mut high) = (nodes, nodes);
            for ((stored, low), high) in stored.iter().zip(&mut low).zip(&mut high) {
                if stored.tests(var) {
                    (*low, *high) = (stored.low, stored.high);
                }
            }
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
                    let low = self.node(store, (low_range, literal), low)?;
                    let high = self.node(store, (high_range, literal), high)?;
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
        self.known.insert(key, selected);
        Ok(selected)
    }
}

impl Store {
    /// The first node where all literals hold, and the second elsewhere; both test only later variables.
    fn all_of(
        &mut self,
        literals: &[Literal],
        [then, otherwise]: [u32; 2],
    ) -> Result<u32, DiagramError> {
        literals.iter().rev().try_fold(then, |below, (var, value)| {
            let (low, high) = if *value { (otherwise, below) } else { (below, otherwise) };
            self.node(*var, low, high)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Budget, Func, Pred};
    use crate::policy::Field;
    use callgate_bpf::data::Endian;
    use callgate_bpf::verdict::Verdict;

    /// Conjunctions of equalities of the same and of different fields, with and without masks, some of them impossible,
    /// between functions that test the same variables and others.
    #[test]
    fn literals_select_as_their_predicate() {
        let fields: Vec<Field> =
            (0..3).flat_map(|i| [Field::arg(i), Field::arg_low(i)]).flatten().collect();
        let values = [0, 1, 2, 6, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let masks = [u64::MAX, 0xffff_ffff, 6, 0x1_0000_0001];
        let mut store = Store::new(Budget::default());
        let mut funcs: Vec<Func> =
            (0..4).map(|errno| store.verdict(Verdict::errno(errno)).unwrap()).collect();
        let (mut all, mut any, mut never) = (Conjunctions::default(), Pred::NEVER, 0);
        for step in 0..800usize {
            let tests = (0..1 + step % 4).map(|k| {
                let at = step * 7 + k * (5 + step % 3);
                let mask = masks[at / 7 % 4];
                let value = values[at / 5 % 7] & if step % 5 == 0 { u64::MAX } else { mask };
                let test = Test::eq(fields[at % fields.len()], value);
                Condition::test(Test { mask: mask & test.field.full_mask(), ..test })
            });
            let condition = Condition::all(tests.collect::<Vec<_>>());
            let predicate = store.condition(&condition).unwrap();
            let [then, otherwise] = [step * 3, step * 5 + 1].map(|at| funcs[at % funcs.len()]);
            let literals = Literals::of(&condition, Layout::Seccomp).unwrap();
            never += usize::from(literals == Literals::Never);
            let mut one = Conjunctions::default();
            one.add(literals);
            let selected = one.select(&mut store, then, otherwise).unwrap();
            let expected = store.select(predicate, then, otherwise).unwrap();
            assert_eq!(selected, expected, "{step}: {condition:?}");
            // Together with those before it.
            all.add(Literals::of(&condition, Layout::Seccomp).unwrap());
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
    fn the_literals_of_words_are_those_of_equalities() {
        let word = |arg| Word::arg_low(arg).unwrap();
        let equal = |arg, value| Condition::test(Test::eq(Field::arg_low(arg).unwrap(), value));
        let both = Condition::all([equal(1, 0x8000_0007), equal(0, 6)]);
        let of_words = |values: &[(Word, u32)]| Literals::of_words(values.to_vec());
        assert_eq!(
            Some(of_words(&[(word(1), 0x8000_0007), (word(0), 6), (word(0), 6)])),
            Literals::of(&both, Layout::Seccomp)
        );
        assert_eq!(of_words(&[(word(0), 6), (word(1), 1), (word(0), 7)]), Literals::Never);
    }

    #[test]
    fn other_conditions_have_no_literals() {
        let field = Field::arg(0).unwrap();
        let [equal, less] = [Cmp::Eq, Cmp::Lt].map(|cmp| Condition::test(Test::new(field, cmp, 3)));
        let others = [
            less.clone(),
            Condition::all([equal.clone(), less.clone()]),
            Condition::any([equal.clone(), less]),
        ];
        assert!(others.iter().all(|other| Literals::of(other, Layout::Seccomp).is_none()));
        assert!(Literals::of(&equal, Layout::Seccomp).is_some());
        assert_eq!(Literals::of(&equal, Layout::IoUring(Endian::Little)), None);
    }
}
