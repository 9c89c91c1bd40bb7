//! What is known about an instruction that some values reach, independently of all others: the tests that
//! distinguish its values, and lower bounds of what it and its successors cost.

use super::code::Test;
use super::function::{ALL_BITS, Function, MAX_CLASSES, VALUES};
use super::state::{Held, Set};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// A test that distinguishes values of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    pub(super) test: Test,
    /// The values for which it holds.
    pub(super) then: Set,
}

/// The values that are considered, and what they cost.
#[derive(Debug)]
pub(super) struct Values {
    values: Vec<u8>,
    /// For each class, its values.
    of_class: [Set; MAX_CLASSES],
    /// For each bit, the values that have it.
    of_bit: [Set; 7],
    weights: Vec<u32>,
    /// For each mask, the tests of what A holds.
    tests: Vec<Option<Vec<Split>>>,
    part_tests: Vec<Set>,
}

impl Values {
    pub(super) fn new() -> Values {
        Values {
            values: Vec::new(),
            of_class: [0; MAX_CLASSES],
            of_bit: [0; 7],
            weights: Vec::new(),
            tests: vec![None; VALUES],
            part_tests: Vec::new(),
        }
    }

    /// Adds a value; false if there are too many.
    pub(super) fn add(&mut self, value: u8, class: u8, weight: u32) -> bool {
        if self.values.len() == Set::BITS as usize {
            return false;
        }
        if self.values.contains(&value) {
            return true;
        }
        let bit = 1 << self.values.len();
        self.values.push(value);
        self.weights.push(weight);
        if let Some(of) = self.of_class.get_mut(usize::from(class)) {
            *of |= bit;
        }
        for (at, of) in self.of_bit.iter_mut().enumerate() {
            *of |= if value >> at & 1 == 1 { bit } else { 0 };
        }
        self.tests = vec![None; VALUES];
        self.part_tests.clear();
        true
    }

    /// Adds values with their weights; false if there are too many.
    pub(super) fn add_all(
        &mut self,
        values: &[u8],
        function: &Function,
        weights: &[u32; VALUES],
    ) -> bool {
        let add =
            |value: &u8| self.add(*value, function.class(*value), weights[usize::from(*value)]);
        values.iter().all(add)
    }

    /// All values.
    pub(super) fn all(&self) -> Set {
        match self.values.len() {
            0 => 0,
            len => Set::MAX >> (Set::BITS as usize - len),
        }
    }

    pub(super) fn members(&self, set: Set) -> impl Iterator<Item = u8> {
        let rest = std::iter::successors(Some(set), |set| Some(set & set.wrapping_sub(1)));
        let indexes = rest.take_while(|set| *set != 0).map(|set| set.trailing_zeros() as usize);
        indexes.filter_map(|at| self.values.get(at).copied())
    }

    /// The class of all values of a set, if it is the same.
    pub(super) fn class(&self, set: Set) -> Option<u8> {
        let class = self.of_class.iter().position(|of| set & !of == 0)?;
        Some(class as u8)
    }

    pub(super) fn of_class(&self, class: u8) -> Set {
        self.of_class.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// The number of classes in a set.
    pub(super) fn classes(&self, set: Set) -> u32 {
        self.of_class.iter().map(|of| u32::from(set & of != 0)).sum()
    }

    /// The union of the bits of the values of a set.
    pub(super) fn bits(&self, set: Set) -> u8 {
        let bits = self.of_bit.iter().enumerate();
        bits.fold(0, |bits, (at, of)| bits | u8::from(set & of != 0) << at)
    }

    pub(super) fn weight(&self, set: Set) -> u32 {
        let rest = std::iter::successors(Some(set), |set| Some(set & set.wrapping_sub(1)));
        let indexes = rest.take_while(|set| *set != 0).map(|set| set.trailing_zeros() as usize);
        indexes.filter_map(|at| self.weights.get(at)).sum()
    }

    /// The tests of what A holds that distinguish values, each partition once.
    fn tests(&mut self, held: Held) -> &[Split] {
        let all = self.all();
        let values = &self.values;
        let make = || {
            let mask = held.mask();
            let splits = Test::all().map(|test| {
                let holds =
                    values.iter().enumerate().filter(|(_, value)| test.holds(*value & mask));
                Split { test, then: holds.fold(0, |set, (at, _)| set | 1 << at) }
            });
            distinct(splits, all)
        };
        match self.tests.get_mut(usize::from(held.mask())) {
            Some(tests) => tests.get_or_insert_with(make),
            None => &[],
        }
    }

    /// The tests of what A holds that are worth trying for a set of values. Each partition is listed once. A test that leads
    /// values to a return is listed only if no other test leads more values there: the code after the smaller test also
    /// works after the larger one.
    fn splits(&mut self, set: Set, held: Held) -> Vec<Split> {
        if held.is_nothing() {
            return Vec::new();
        }
        let tests = self.tests(held).iter();
        let all = distinct(tests.map(|split| Split { then: split.then & set, ..*split }), set);
        let returned = |split: &Split| {
            let [then, otherwise] = [split.then, set & !split.then];
            match (self.class(then), self.class(otherwise)) {
                (Some(_), Some(_)) => set,
                (Some(_), None) => then,
                (None, Some(_)) => otherwise,
                (None, None) => 0,
            }
        };
        let returns: Vec<Set> = all.iter().map(returned).collect();
        let is_largest = |of: Set| !returns.iter().any(|other| of & !other == 0 && of != *other);
        let worth = all.iter().zip(&returns).filter(|(_, of)| **of == 0 || is_largest(**of));
        worth.map(|(split, _)| *split).collect()
    }

    /// Whether a test of what A holds separates the classes of a set.
    fn is_separated(&mut self, set: Set, held: Held) -> bool {
        match self.two(set) {
            Some([a, b]) => self.tests(held).iter().any(|split| {
                let then = split.then & set;
                then == a || then == b
            }),
            None => self.class(set).is_some(),
        }
    }

    /// The values of each class of a set, if it has two classes.
    fn two(&self, set: Set) -> Option<[Set; 2]> {
        let a = self.of_class.iter().map(|of| of & set).find(|of| *of != 0)?;
        let b = set & !a;
        (b != 0 && self.class(b).is_some()).then_some([a, b])
    }

    /// Whether `and` and a test of a whole value separate the classes of a set.
    fn is_separated_by_part(&mut self, set: Set) -> bool {
        let Some([a, b]) = self.two(set) else { return false };
        self.part_tests().iter().any(|then| {
            let then = then & set;
            then == a || then == b
        })
    }

    /// The values for which tests after `and` hold, each partition once.
    fn part_tests(&mut self) -> &[Set] {
        if self.part_tests.is_empty() {
            let mut splits = Vec::new();
            for mask in 1..ALL_BITS {
                splits.extend_from_slice(self.tests(Held::new(mask, ALL_BITS)));
            }
            let distinct = distinct(splits.into_iter(), self.all());
            self.part_tests = distinct.iter().map(|split| split.then).collect();
        }
        &self.part_tests
    }
}

/// The splits that distinguish values of a set, each partition once.
fn distinct(splits: impl Iterator<Item = Split>, set: Set) -> Vec<Split> {
    // Either side identifies a partition: that with the first value.
    let first = set & set.wrapping_neg();
    let key = |split: &Split| if split.then & first != 0 { split.then } else { set & !split.then };
    let mut distinct: Vec<Split> =
        splits.filter(|split| split.then != 0 && split.then != set).collect();
    distinct.sort_by_key(key);
    distinct.dedup_by_key(|split| key(split));
    distinct
}

/// What is known about a set of values that reach an instruction where A holds some of their bits.
#[derive(Debug)]
pub(super) struct Facts {
    splits: Option<Rc<[Split]>>,
    pub(super) weight: u32,
    /// A lower bound of the weighted number of executed instructions.
    pub(super) executed: u32,
    /// A lower bound of the number of instructions.
    insns: u32,
    /// Whether it is known whether two instructions suffice.
    knows_two: bool,
    /// A lower bound of the cost.
    pub(super) cost: u32,
    /// The cost of a program that is known.
    pub(super) achieved: u32,
}

/// All facts.
#[derive(Debug)]
pub(super) struct AllFacts {
    pub(super) values: Values,
    size_price: u32,
    index: HashMap<(Set, Held), usize>,
    facts: Vec<Facts>,
    /// The number of facts that were counted.
    counted: usize,
}

impl AllFacts {
    pub(super) fn new(values: Values, size_price: u32) -> AllFacts {
        AllFacts { values, size_price, index: HashMap::default(), facts: Vec::new(), counted: 0 }
    }

    /// The number of facts that were found since the last call.
    pub(super) fn take_new(&mut self) -> u64 {
        let new = self.facts.len() - self.counted;
        self.counted = self.facts.len();
        new as u64
    }

    pub(super) fn get(&mut self, at: usize) -> &mut Facts {
        &mut self.facts[at]
    }

    /// The index of the facts about a set of values of different classes.
    pub(super) fn of(&mut self, set: Set, held: Held) -> usize {
        if let Some(known) = self.index.get(&(set, held)) {
            return *known;
        }
        let facts = self.found(set, held);
        let at = self.facts.len();
        self.facts.push(facts);
        self.index.insert((set, held), at);
        at
    }

    /// The tests that are worth trying.
    pub(super) fn splits(&mut self, at: usize, set: Set, held: Held) -> Rc<[Split]> {
        let values = &mut self.values;
        let splits = &mut self.facts[at].splits;
        splits.get_or_insert_with(|| values.splits(set, held).into()).clone()
    }

    fn found(&mut self, set: Set, held: Held) -> Facts {
        let weight = self.values.weight(set);
        let (executed, insns) = if held.is_nothing() {
            let loaded = self.of(set, Held::ALL);
            let loaded = &self.facts[loaded];
            (weight + loaded.executed, 1 + loaded.insns)
        } else if self.values.is_separated(set, held) {
            (weight, 1)
        } else {
            (
                2 * weight - self.most_returned(set, held, weight),
                2.max(self.values.classes(set) - 1),
            )
        };
        Facts {
            splits: None,
            weight,
            executed,
            insns,
            knows_two: insns != 2 || held.is_nothing(),
            cost: executed + insns * self.size_price,
            achieved: u32::MAX,
        }
    }

    /// The most of the weight of a set that one test leads to a return.
    fn most_returned(&mut self, set: Set, held: Held, weight: u32) -> u32 {
        if weight == 0 {
            return 0;
        }
        self.values.tests(held);
        let values = &self.values;
        let tests = values.tests.get(usize::from(held.mask())).and_then(Option::as_ref);
        let sides =
            tests.into_iter().flatten().flat_map(|split| [split.then & set, set & !split.then]);
        let returned = sides.filter(|side| values.class(*side).is_some());
        returned.map(|side| values.weight(side)).max().unwrap_or(0)
    }

    /// Improves the lower bound: whether two instructions suffice.
    pub(super) fn decide_two(&mut self, at: usize, set: Set, held: Held) {
        if self.facts[at].knows_two {
            return;
        }
        self.facts[at].knows_two = true;
        if !self.two_suffice(set, held) {
            let facts = &mut self.facts[at];
            facts.insns = 3;
            facts.cost = facts.cost.max(facts.executed + 3 * self.size_price);
        }
    }

    fn two_suffice(&mut self, set: Set, held: Held) -> bool {
        let values = &mut self.values;
        // What remains after a test that leads values to a return; a part of it is never harder to separate.
        let mut rests: Vec<Set> = Vec::new();
        for at in 0..values.tests(held).len() {
            let then = values.tests(held)[at].then & set;
            for (side, rest) in [(then, set & !then), (set & !then, then)] {
                let is_new = |rests: &[Set]| rests.iter().all(|known| known & !rest != 0);
                if side != 0 && values.class(side).is_some() && is_new(&rests) {
                    rests.push(rest);
                }
            }
        }
        if rests.iter().any(|rest| values.is_separated(*rest, held)) {
            return true;
        }
        // After `and`; for a part of the value, any other part, which is a lower bound.
        values.is_separated_by_part(set) || held != Held::ALL && values.is_separated(set, Held::ALL)
    }
}

/// The nonempty proper submasks of a mask, the largest first.
pub(super) fn masks(mask: u8) -> impl Iterator<Item = u8> {
    let next = move |sub: &u8| Some((sub - 1) & mask).filter(|sub| *sub != 0);
    std::iter::successors(Some(mask).filter(|mask| *mask != 0), next).skip(1)
}
