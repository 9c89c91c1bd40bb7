//! Dispatch trees: search trees for arch and syscall number, weighted by the expected syscalls.
//!
//! x32 reuses the tree of x86-64: its syscalls have the arch token of x86-64 and, with exceptions, the same numbers with bit 30
//! set (`arch/x86/entry/syscalls/syscall_64.tbl`). So a filter for both would contain nearly the same tree twice. Instead, only
//! the exceptions are searched for among the numbers with the bit; for all others `and` clears the bit, and the tree for the
//! numbers without it applies. The kernel's emulator supports `and`, so a syscall remains constant allow.

use callgate_core::diagram::{DiagramError, Func, Split};
use callgate_core::{Layout, Op, Word};
use rustc_hash::FxHashMap as HashMap;

use super::code::{CodeId, Graph, Held};
use super::lower::Lowering;
use super::tree::{MAX_INTERVALS, Node, Price, Tree, WeightedInterval, search_tree, tree_code};
use super::{Aim, Instructions, Result};
use crate::query::{self, Interval};

/// The maximum share of the weight of the numbers with the bit for which a tree is reused, because that takes more
/// tests.
const MAX_REUSE_SHARE: f64 = 0.2;

const NO_EXIT: DiagramError = DiagramError::defect("each class of a search tree has an exit");

/// A search tree, and the targets of its classes.
struct Search {
    tree: Tree,
    targets: Vec<Target>,
}

/// Where arches and numbers continue.
pub(super) trait Exits {
    /// The code graph.
    fn graph(&mut self) -> &mut Graph;

    /// The code of an exit, which loads what it tests. Equal exits have equal code.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    fn exit(&mut self, exit: Exit) -> Result<CodeId>;
}

/// What a program is for.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) aim: Aim,
    pub(super) instructions: Instructions,
    pub(super) layout: Layout,
}

impl Lowering<'_> {
    /// The code of the dispatch tree for arch or number; `None` if there are too many intervals.
    pub(super) fn search(&mut self, func: Func, word: Word) -> Result<Option<CodeId>> {
        let layout = self.store.layout();
        let mask = layout.mask(word);
        let Some(intervals) = query::partition_within(self.store, func, word, mask, MAX_INTERVALS)
        else {
            return Ok(None);
        };
        // Each function is searched once.
        let weights = if word == layout.number() {
            self.numbers.remove(&func).unwrap_or_default()
        } else {
            std::mem::take(&mut self.arches)
        };
        let mut exits: Vec<Func> = Vec::new();
        let mut exit_of: HashMap<Func, Exit> = HashMap::default();
        let intervals = intervals.iter().map(|interval| {
            let exit = *exit_of.entry(interval.then).or_insert(exits.len());
            if exit == exits.len() {
                exits.push(interval.then);
            }
            interval.with(exit)
        });
        let intervals: Vec<Interval<Exit>> = intervals.collect();
        if word == layout.number() {
            self.share_out(&intervals, &exits, &weights);
        }
        let settings = Settings { aim: self.aim, instructions: self.instructions, layout };
        let mut functions = Functions { lowering: self, exits };
        dispatch(&mut functions, settings, word, intervals, weights).map(Some)
    }

    /// Adds the shares of numbers to those of their exits.
    fn share_out(&mut self, intervals: &[Interval<Exit>], exits: &[Func], weights: &[(u32, f64)]) {
        for Interval { first, last, then } in intervals {
            let Some(exit) =
                exits.get(*then).filter(|exit| self.store.as_verdict(**exit).is_none())
            else {
                continue;
            };
            let share: f64 = between(weights, *first, *last).iter().map(|(_, share)| share).sum();
            *self.shares.entry(*exit).or_default() += share;
        }
    }
}

/// The exits of a function of arch or number.
struct Functions<'f, 's> {
    lowering: &'f mut Lowering<'s>,
    exits: Vec<Func>,
}

impl Exits for Functions<'_, '_> {
    fn graph(&mut self) -> &mut Graph {
        &mut self.lowering.graph
    }

    fn exit(&mut self, exit: Exit) -> Result<CodeId> {
        self.lowering.entry(*self.exits.get(exit).ok_or(NO_EXIT)?)
    }
}

/// The code that finds the exit of the value of a word, which A holds. The intervals cover all values, in order; the weights
/// of values are in order, too.
pub(super) fn dispatch(
    exits: &mut dyn Exits,
    settings: Settings,
    word: Word,
    intervals: Vec<Interval<Exit>>,
    weights: Vec<(u32, f64)>,
) -> Result<CodeId> {
    let Settings { aim, layout, .. } = settings;
    // Only syscalls have numbers of several ABIs.
    let found = if layout == Layout::Seccomp { find_reuse(&intervals) } else { None };
    let is_rare = |bit| share(&weights, bit) <= MAX_REUSE_SHARE;
    let reuse = found.filter(|reuse| aim == Aim::Size || is_rare(reuse.bit));
    let mut dispatch = Dispatch { exits, settings, word, weights };
    let separated = match &reuse {
        Some(reuse) if aim != Aim::Size => return dispatch.reusing(reuse),
        Some(reuse) => Some(dispatch.separated(reuse)?),
        None => None,
    };
    let targets = intervals.iter().map(|interval| interval.with(Target::Exit(interval.then)));
    let classified = classified(&targets.collect::<Vec<_>>(), &dispatch.weights);
    // The search takes the most memory.
    drop(intervals);
    dispatch.weights = Vec::new();
    let search = dispatch.search_of(classified);
    let code = dispatch.code(&search, &[])?;
    // Without the separation, more tests may be equal.
    let graph = dispatch.exits.graph();
    let is_shorter = |other: &CodeId| graph.insns(*other) < graph.insns(code);
    Ok(separated.filter(is_shorter).unwrap_or(code))
}

struct Dispatch<'e> {
    exits: &'e mut dyn Exits,
    settings: Settings,
    word: Word,
    weights: Vec<(u32, f64)>,
}

impl Dispatch<'_> {
    fn search(&self, intervals: &[TargetInterval]) -> Search {
        self.search_of(classified(intervals, &self.weights))
    }

    fn search_of(&self, (intervals, targets): (Vec<WeightedInterval>, Vec<Target>)) -> Search {
        let Settings { aim, instructions, layout } = self.settings;
        // The kernel must only recognize constant allow in seccomp filters.
        let bitset_tests = layout != Layout::Seccomp && instructions.allows_bitset_tests();
        let price = Price { bitset_tests, ..Price::of_number(aim, instructions) };
        Search { tree: search_tree(&intervals, price), targets }
    }

    /// The code of a search; `codes_of` has the code of targets that are not exits.
    fn code(&mut self, search: &Search, codes_of: &[(Target, CodeId)]) -> Result<CodeId> {
        let mut codes = Vec::with_capacity(search.targets.len());
        for target in &search.targets {
            codes.push(match target {
                Target::Exit(exit) => self.exits.exit(*exit)?,
                // A class that no value here has needs some code, too.
                _ => match codes_of.iter().find(|(to, _)| to == target) {
                    Some((_, code)) => *code,
                    None => *codes.first().ok_or(NO_EXIT)?,
                },
            });
        }
        let Settings { instructions, layout, .. } = self.settings;
        let (word, graph) = (self.word, self.exits.graph());
        // Exits load their words; the others need the number.
        let without_a = search.targets.iter().zip(&codes).map(|(target, code)| match target {
            Target::Exit(_) => *code,
            _ => graph.load(word, *code),
        });
        let without_a: Vec<CodeId> = without_a.collect();
        let held = Held { word, mask: layout.mask(word) };
        Ok(tree_code(graph, instructions, &search.tree, &codes, &without_a, held))
    }

    /// The code of a search in which numbers with a bit reuse the tree of those without it.
    fn reusing(&mut self, Reuse { bit, all, with }: &Reuse) -> Result<CodeId> {
        let with = self.search(with);
        // The numbers with the bit are found within the tree of all numbers. Those that reuse it without the bit
        // repeat the tests on that path.
        let all = self.search(all);
        let never = all.targets.iter().position(|target| *target == Target::WithBit);
        let tree = restrict_below(&all.tree, *bit, never.unwrap_or(usize::MAX));
        let without = self.code(&Search { tree, targets: all.targets.clone() }, &[])?;
        let with = self.with_bit(&with, *bit, without)?;
        self.code(&all, &[(Target::WithBit, with)])
    }

    /// The code of a search that separates the numbers with the bit first. The numbers without it then have a contiguous tree,
    /// which the numbers with the bit reuse.
    fn separated(&mut self, Reuse { bit, all, with }: &Reuse) -> Result<CodeId> {
        let (low, high) = all.split_at(all.partition_point(|interval| interval.first < *bit));
        let [low, high, with] = [low, high, with].map(|intervals| self.search(intervals));
        let otherwise = self.code(&low, &[])?;
        let with = self.with_bit(&with, *bit, otherwise)?;
        let then = self.code(&high, &[(Target::WithBit, with)])?;
        let whole = Held::whole(self.word);
        Ok(self.exits.graph().branch(whole, Op::JgeK, *bit, then, otherwise))
    }

    /// The code of the search among the numbers with the bit, some of which continue at `without`.
    fn with_bit(&mut self, search: &Search, bit: u32, without: CodeId) -> Result<CodeId> {
        let without = self.exits.graph().and(Held::whole(self.word), !bit, without);
        self.code(search, &[(Target::WithoutBit, without)])
    }
}

/// The share of the weight of the numbers from `bit` to the next power of two.
fn share(weights: &[(u32, f64)], bit: u32) -> f64 {
    let sum = |of: &dyn Fn(u32) -> bool| -> f64 {
        weights.iter().filter(|(value, _)| of(*value)).map(|(_, weight)| weight).sum()
    };
    let total = sum(&|_| true);
    if total > 0.0 { sum(&|value| value & bit == bit && value >> 1 < bit) / total } else { 0.0 }
}

/// The minimum share of the weight of a frequent number.
pub(super) const FREQUENT: f64 = 0.03;

/// The same intervals, but each frequent number is an interval of its own: it may be cheaper to test it before its
/// neighbours, although they have the same target.
fn split_off_frequent(intervals: &[TargetInterval], weights: &[(u32, f64)]) -> Vec<TargetInterval> {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
        return Vec::new();
    };
    let here = between(weights, first.first, last.last);
    let total: f64 = here.iter().map(|(_, weight)| weight).sum();
    let frequent = here.iter().filter(|(_, weight)| *weight > FREQUENT * total);
    // Each frequent number splits an interval in up to three.
    let mut split = Vec::with_capacity(intervals.len() + 2 * frequent.clone().count());
    let mut frequent = frequent.map(|(value, _)| *value).peekable();
    for Interval { first, last, then } in intervals.iter().copied() {
        let mut rest = Some(first);
        while let (Some(first), Some(value)) = (rest, frequent.next_if(|value| *value <= last)) {
            if first < value {
                split.push(Interval { first, last: value - 1, then });
            }
            split.push(Interval { first: value, last: value, then });
            rest = value.checked_add(1).filter(|next| *next <= last);
        }
        split.extend(rest.map(|first| Interval { first, last, then }));
    }
    split
}

/// The weights of the values from `first` to `last`, of weights in the order of their values.
fn between(weights: &[(u32, f64)], first: u32, last: u32) -> &[(u32, f64)] {
    let start = weights.partition_point(|(value, _)| *value < first);
    let rest = weights.get(start..).unwrap_or_default();
    let len = rest.partition_point(|(value, _)| *value <= last);
    rest.get(..len).unwrap_or_default()
}

/// Intervals with weights and classes, among them each frequent number; and the targets of the classes.
fn classified(
    intervals: &[TargetInterval],
    weights: &[(u32, f64)],
) -> (Vec<WeightedInterval>, Vec<Target>) {
    let mut targets = Vec::new();
    let mut class_of: HashMap<Target, usize> = HashMap::default();
    let start = intervals.first().map_or(0, |interval| interval.first);
    let mut rest = between(weights, start, u32::MAX);
    let intervals = split_off_frequent(intervals, weights).into_iter().map(|interval| {
        let Interval { first, last, then } = interval;
        let class = *class_of.entry(then).or_insert_with(|| {
            targets.push(then);
            targets.len() - 1
        });
        let mut weight = 0.0;
        while let Some(((_, own), others)) = rest.split_first().filter(|((at, _), _)| *at <= last) {
            weight += own;
            rest = others;
        }
        WeightedInterval { first, last, class, weight }
    });
    (intervals.collect(), targets)
}

/// The minimum number of intervals that reuse must save, because it needs additional tests.
const MIN_SAVED: usize = 16;

/// The index of an exit.
pub(super) type Exit = usize;

/// The target of a syscall number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    Exit(Exit),
    /// The search among the numbers with the bit.
    WithBit,
    /// The target of the same number without the bit.
    WithoutBit,
}

pub(super) type TargetInterval = Interval<Target>;

/// The numbers from `bit` to `2 * bit - 1` have nearly the same targets as those below `bit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reuse {
    pub(super) bit: u32,
    /// All numbers; those with the bit are a single interval.
    pub(super) all: Vec<TargetInterval>,
    /// The numbers with the bit.
    pub(super) with: Vec<TargetInterval>,
}

/// The best reuse for intervals that cover all numbers, if it saves enough.
pub(super) fn find_reuse(intervals: &[Interval<Exit>]) -> Option<Reuse> {
    if intervals.len() < 2 * MIN_SAVED {
        return None;
    }
    (3..32).rev().map(|shift| 1 << shift).find_map(|bit| find_for_bit(intervals, bit))
}

fn find_for_bit(intervals: &[Interval<Exit>], bit: u32) -> Option<Reuse> {
    let within = |first: u32, last: u32| {
        let from = intervals.partition_point(|interval| interval.last < first);
        let to = intervals.partition_point(|interval| interval.first <= last);
        intervals.get(from..to).unwrap_or_default()
    };
    let last = bit + (bit - 1);
    let (without, with) = (within(0, bit - 1), within(bit, last));
    if with.len() < MIN_SAVED || without.len() < MIN_SAVED {
        return None;
    }
    let mut labelled: Vec<TargetInterval> = Vec::new();
    let mut others = without.iter().peekable();
    for interval in with {
        let mut at = interval.first.max(bit);
        let end = interval.last.min(last);
        while let Some(other) = others.peek() {
            let same = other.then == interval.then;
            let to = if same { Target::WithoutBit } else { Target::Exit(interval.then) };
            let other_end = other.last.min(bit - 1) | bit;
            let until = end.min(other_end);
            match labelled.last_mut() {
                Some(interval) if interval.then == to => interval.last = until,
                _ => labelled.push(Interval { first: at, last: until, then: to }),
            }
            if other_end == until {
                others.next();
            }
            if until == end {
                break;
            }
            at = until + 1;
        }
    }
    if labelled.len() + MIN_SAVED > with.len() {
        return None;
    }
    let outside = |first: u32, last: u32| {
        within(first, last).iter().map(move |interval| Interval {
            first: interval.first.max(first),
            last: interval.last.min(last),
            then: Target::Exit(interval.then),
        })
    };
    let mut all: Vec<TargetInterval> = outside(0, bit - 1).collect();
    all.push(Interval { first: bit, last, then: Target::WithBit });
    if last < u32::MAX {
        all.extend(outside(last + 1, u32::MAX));
    }
    Some(Reuse { bit, all, with: labelled })
}

/// The tree restricted to values less than `bit`, none of which has the class `never`.
pub(super) fn restrict_below(tree: &Tree, bit: u32, never: usize) -> Tree {
    let mut pruned = Tree::default();
    // Per node, its new index; `None` if no value less than `bit` reaches it.
    let mut new_index: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let successors = match *node {
            Node::Leaf { class } => {
                new_index.push((class != never).then(|| pruned.push(*node)));
                continue;
            }
            Node::Test { split: Split::Equal(k) | Split::AtLeast(k), then, otherwise } => {
                (new_index[then].filter(|_| k < bit), new_index[otherwise])
            }
            Node::AnyBit { mask, then, otherwise } => {
                (new_index[then].filter(|_| mask & (bit - 1) != 0), new_index[otherwise])
            }
            Node::Bitset { then, otherwise, .. } => (new_index[then], new_index[otherwise]),
        };
        new_index.push(match successors {
            (Some(then), Some(otherwise)) => {
                Some(pruned.push(node.with_successors(then, otherwise)))
            }
            (only, None) | (None, only) => only,
        });
    }
    // The root must be the last node, even if it has become an earlier one.
    let root = new_index.last().copied().flatten().unwrap_or(0);
    pruned.nodes.truncate(root + 1);
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_numbers_are_intervals_of_their_own() {
        let of = |all: &[(u32, u32, usize)]| -> Vec<TargetInterval> {
            let interval = |(first, last, exit)| Interval { first, last, then: Target::Exit(exit) };
            all.iter().copied().map(interval).collect()
        };
        let intervals = of(&[(0, 4, 1), (5, 9, 2), (10, u32::MAX, 1)]);
        let weights = [(2, 1.0), (4, 0.5), (9, 1.0), (10, 0.001)];
        let expected =
            [(0, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 8, 2), (9, 9, 2), (10, u32::MAX, 1)];
        assert_eq!(split_off_frequent(&intervals, &weights), of(&expected));
    }

    /// Numbers less than 64 with some pattern, and the same with bit 6, except for `differ`.
    fn numbers(differ: &[u32]) -> (Vec<Interval<Exit>>, impl Fn(u32) -> Exit) {
        let differ = differ.to_vec();
        let to = move |value: u32| {
            let pattern = value < 128 && (value & 63) * 7 % 5 < 2;
            let differs = (64..128).contains(&value) && differ.contains(&(value & 63));
            usize::from(pattern ^ differs)
        };
        let mut intervals: Vec<Interval<Exit>> = Vec::new();
        for value in 0..130 {
            match intervals.last_mut() {
                Some(interval) if interval.then == to(value) => interval.last = value,
                _ => intervals.push(Interval { first: value, last: value, then: to(value) }),
            }
        }
        intervals.last_mut().unwrap().last = u32::MAX;
        (intervals, to)
    }

    #[test]
    fn reuse_preserves_the_targets() {
        for differ in [&[][..], &[0], &[5, 6, 7, 40], &[63]] {
            let (intervals, to) = numbers(differ);
            let Reuse { bit, all, with } = find_reuse(&intervals).unwrap();
            assert_eq!(bit, 64);
            let target_of = |intervals: &[TargetInterval], value: u32| {
                let has_value = |of: &&TargetInterval| (of.first..=of.last).contains(&value);
                intervals.iter().find(has_value).unwrap().then
            };
            for value in (0..128).chain([1000, u32::MAX]) {
                let mut at = target_of(&all, value);
                if at == Target::WithBit {
                    at = target_of(&with, value);
                }
                if at == Target::WithoutBit {
                    at = target_of(&all, value & !bit);
                }
                assert_eq!(at, Target::Exit(to(value)), "{value} {differ:?}");
            }
        }
    }

    #[test]
    fn numbers_that_differ_too_often_are_not_reused() {
        let every_third: Vec<u32> = (0..64).step_by(3).collect();
        let (intervals, _) = numbers(&every_third);
        assert_eq!(find_reuse(&intervals), None);
    }
}
