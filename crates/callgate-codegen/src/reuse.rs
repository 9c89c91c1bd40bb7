//! Reuse of a dispatch tree: x32 reuses the tree of x86-64.
//!
//! The syscalls of x32 have the arch token of x86-64 and, with exceptions, the same numbers with bit 30 set
//! (`arch/x86/entry/syscalls/syscall_64.tbl`). So a filter for both would contain nearly the same tree twice.
//! Instead, only the exceptions are searched for among the numbers with the bit; for all others `and` clears
//! the bit, and the tree for the numbers without it applies. The kernel's emulator supports `and`, so a
//! syscall remains constant allow.

use super::tree::{Node, Tree};
use crate::query::Interval;
use callgate_core::diagram::Split;

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
pub(super) fn find(intervals: &[Interval<Exit>]) -> Option<Reuse> {
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
            let Reuse { bit, all, with } = find(&intervals).unwrap();
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
        assert_eq!(find(&intervals), None);
    }
}
