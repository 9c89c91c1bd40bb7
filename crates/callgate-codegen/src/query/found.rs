//! Syscalls for which functions with comparisons of two arguments have wanted verdicts.
//!
//! On a path of the diagram, comparisons of two words demand an outcome, and bits of words a value; both may exclude each other. So
//! for each path, values of the words are chosen that fulfill both, and a syscall is only returned if the functions have the wanted
//! verdicts for it. The search is bounded, and its choice of values is not complete: `None` says nothing.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use callgate_core::diagram::{Compared, Comparison, Func, Node, Store, VARS, Var};
use callgate_core::{Endian, Relation, SeccompData, Verdict, Word};

use super::independent::has_comparisons;
use crate::Result;

/// The maximum number of paths for which values are chosen.
const MAX_PATHS: u32 = 1024;

/// The maximum number of changes of the chosen values.
const MAX_CHANGES: usize = 64;

/// A syscall for which two functions differ, near `start`, as [`Store::witness`]; but comparisons of two words are fulfilled, if
/// that is found to be possible.
///
/// # Errors
/// As [`Store::witness`].
pub fn witness(store: &Store, a: Func, b: Func, start: SeccompData) -> Result<Option<SeccompData>> {
    let direct = store.witness(a, b, start)?;
    let is_complete = a == b || !has_comparisons(store, a) && !has_comparisons(store, b);
    if direct.is_some() || is_complete {
        return Ok(direct);
    }
    Ok(syscall_with(store, [a, b], start, |[a, b]| a != b))
}

/// A syscall for which functions have wanted verdicts, near `start`; `None` if there is none, or none was found.
pub fn syscall_with<const N: usize>(
    store: &Store,
    funcs: [Func; N],
    start: SeccompData,
    is_wanted: impl Fn([Verdict; N]) -> bool,
) -> Option<SeccompData> {
    syscall_to(store, funcs, start, |ends| {
        let mut verdicts = [Verdict::KILL_PROCESS; N];
        ends.into_iter().zip(&mut verdicts).all(|(end, verdict)| {
            let found = store.as_verdict(end);
            *verdict = found.unwrap_or(*verdict);
            found.is_some()
        }) && is_wanted(verdicts)
    })
}

/// A syscall for which functions or predicates end in wanted terminals, near `start`; `None` if there is none, or none was found.
pub(super) fn syscall_to<T: Node + Hash, const N: usize>(
    store: &Store,
    nodes: [T; N],
    start: SeccompData,
    is_wanted: impl Fn([T; N]) -> bool,
) -> Option<SeccompData> {
    let mut search = Search {
        store,
        is_wanted,
        start,
        root: nodes,
        fixed: [Bits::default(); Word::COUNT],
        outcomes: Vec::new(),
        possible: FxHashMap::default(),
        paths: 0,
    };
    search.from(nodes)
}

/// The terminal of a function or predicate for a syscall.
fn end<T: Node>(store: &Store, mut node: T, data: &SeccompData) -> Option<T> {
    while store.var(node) < VARS {
        let (low, high) = store.children(node);
        let is_high = match store.top_comparison(node) {
            Some(comparison) => comparison.holds(data, Endian::NATIVE, &[]),
            None => {
                let word = Word::from_index(usize::from(store.var(node) / 32))?;
                data.word(word) << (store.var(node) % 32) >> 31 == 1
            }
        };
        node = if is_high { high } else { low };
    }
    Some(node)
}

/// Bits of a word that are fixed, and their values.
#[derive(Clone, Copy, Default)]
struct Bits {
    mask: u32,
    value: u32,
}

impl Bits {
    /// The nearest value above another one that has these bits, or the largest.
    fn above(self, other: u32) -> u32 {
        let next = self.with(other.wrapping_add(1));
        if next > other { next } else { self.with(u32::MAX) }
    }

    fn with(self, value: u32) -> u32 {
        value & !self.mask | self.value
    }
}

struct Search<'s, T, W, const N: usize> {
    store: &'s Store,
    is_wanted: W,
    start: SeccompData,
    root: [T; N],
    /// What the path demands of words.
    fixed: [Bits; Word::COUNT],
    /// What it demands of comparisons.
    outcomes: Vec<(Comparison, bool)>,
    /// Whether nodes lead to wanted terminals for any outcomes.
    possible: FxHashMap<[T; N], bool>,
    paths: u32,
}

impl<T: Node + Hash, W: Fn([T; N]) -> bool, const N: usize> Search<'_, T, W, N> {
    /// The first variable that a node tests, and the cofactors.
    fn expand(&self, nodes: [T; N]) -> (Var, [[T; N]; 2]) {
        let var = nodes.iter().map(|node| self.store.var(*node)).min().unwrap_or(VARS);
        let low = nodes.map(|node| self.store.cofactors(node, var).0);
        let high = nodes.map(|node| self.store.cofactors(node, var).1);
        (var, [low, high])
    }

    /// Each recursion is at least one variable deeper.
    fn is_possible(&mut self, nodes: [T; N]) -> bool {
        if let Some(known) = self.possible.get(&nodes) {
            return *known;
        }
        let (var, [low, high]) = self.expand(nodes);
        let is_possible = match var {
            VARS => (self.is_wanted)(nodes),
            _ => self.is_possible(low) || self.is_possible(high),
        };
        self.possible.insert(nodes, is_possible);
        is_possible
    }

    /// Each recursion is at least one variable deeper.
    fn from(&mut self, nodes: [T; N]) -> Option<SeccompData> {
        if self.paths >= MAX_PATHS || !self.is_possible(nodes) {
            return None;
        }
        let (var, sides) = self.expand(nodes);
        if var == VARS {
            self.paths += 1;
            let data = self.chosen()?;
            let mut ends = self.root;
            for node in &mut ends {
                *node = end(self.store, *node, &data)?;
            }
            return (self.is_wanted)(ends).then_some(data);
        }
        if let Some(word) = Word::from_index(usize::from(var / 32)) {
            let bit = 1 << (31 - u32::from(var % 32));
            let near = self.start.word(word) & bit != 0;
            let before = self.fixed[word.index()];
            for is_set in [near, !near] {
                let value = before.value | if is_set { bit } else { 0 };
                self.fixed[word.index()] = Bits { mask: before.mask | bit, value };
                let found = self.from(sides[usize::from(is_set)]);
                self.fixed[word.index()] = before;
                if found.is_some() {
                    return found;
                }
            }
            return None;
        }
        let first = nodes.iter().find(|node| self.store.var(**node) == var)?;
        let comparison = self.store.top_comparison(*first)?;
        let near = comparison.holds(&self.start, Endian::NATIVE, &[]);
        for holds in [near, !near] {
            self.outcomes.push((comparison, holds));
            let found = self.from(sides[usize::from(holds)]);
            self.outcomes.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A syscall with the demanded bits and outcomes, near the start.
    fn chosen(&self) -> Option<SeccompData> {
        let mut fixed = self.fixed;
        // The word with the value of each word: equal words have that of one of them.
        let mut same: [usize; Word::COUNT] = std::array::from_fn(|index| index);
        let mut others = Vec::new();
        for (comparison, holds) in &self.outcomes {
            let Compared::Word(other) = comparison.other else { return None };
            let [one, other] = [comparison.word, other].map(|word| same[word.index()]);
            if (comparison.relation, *holds) != (Relation::Equal, true) {
                others.push((comparison.relation, *holds, [comparison.word, other_of(comparison)]));
            } else if one != other {
                let [a, b] = [fixed[one], fixed[other]];
                if (a.value ^ b.value) & a.mask & b.mask != 0 {
                    return None;
                }
                fixed[one] = Bits { mask: a.mask | b.mask, value: a.value | b.value };
                same.iter_mut().filter(|word| **word == other).for_each(|word| *word = one);
            }
        }
        let mut values: [u32; Word::COUNT] = std::array::from_fn(|index| {
            let start = Word::from_index(index).map_or(0, |word| self.start.word(word));
            fixed[index].with(start)
        });
        for change in 0..MAX_CHANGES {
            let is_wrong = |(relation, holds, words): &(Relation, bool, [Word; 2])| {
                let [a, b] = words.map(|word| values[same[word.index()]]);
                relation.holds(a, b) != *holds
            };
            let Some((relation, holds, words)) = others.iter().copied().find(is_wrong) else {
                let mut data = self.start;
                for word in Word::all() {
                    data.set_word(word, values[same[word.index()]]);
                }
                return Some(data);
            };
            let [a, b] = words.map(|word| same[word.index()]);
            if a == b {
                return None;
            }
            // Alternately, the one and the other word are changed.
            let (one, other) = if change % 2 == 0 { (a, b) } else { (b, a) };
            let common = values[a] & values[b];
            let free = !fixed[one].mask;
            values[one] = match (relation, holds) {
                (Relation::Shares, true) => {
                    let bits = free & (values[other] | !fixed[other].mask);
                    values[one] | bits & bits.wrapping_neg()
                }
                (Relation::Shares, false) => values[one] & !(common & free),
                (Relation::Equal, _) => values[one] ^ (free & free.wrapping_neg()),
                // The order of different words is that of the outcome.
                _ if (one == a) == holds => fixed[one].above(values[other]),
                _ => fixed[one].with(values[one].min(values[other].saturating_sub(1))),
            };
        }
        None
    }
}

fn other_of(comparison: &Comparison) -> Word {
    match comparison.other {
        Compared::Word(word) => word,
        Compared::Half(..) => comparison.word,
    }
}
