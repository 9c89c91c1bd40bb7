//! Numbers that are there twice: once as they are, and once with a bit more.
//!
//! On x86-64 the calls of x32 have the arch token of the 64-bit ones and, but for some, the same
//! numbers with bit 30 set (`arch/x86/entry/syscalls/syscall_64.tbl`). A filter for both says nearly
//! the same twice. Where that is so, only the numbers that differ are searched among those with the
//! bit; for the others `and` takes it away, and the search for the numbers without it serves both.
//! The kernel's emulator understands `and`, so a call stays constant allow.

use super::tree::{Node, Tree};
use crate::query::Interval;
use callgate_proof::diagram::{Func, Split};

/// How many runs fewer there must be to search for; it takes some tests to share a search.
const MIN_FEWER: usize = 16;

/// Where a number leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum To {
    Exit(Func),
    /// It has the bit.
    Twin,
    /// The same as without the bit.
    Same,
}

/// A run of numbers.
pub(super) type Stretch = (u32, u32, To);

/// The numbers from `bit` to `2 * bit - 1` are nearly those below `bit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Twins {
    pub(super) bit: u32,
    /// All numbers; those with the bit are one run.
    pub(super) all: Vec<Stretch>,
    /// Those with the bit.
    pub(super) with: Vec<Stretch>,
}

/// The twins among runs that cover all numbers, when they make the search much smaller.
pub(super) fn twins(intervals: &[Interval]) -> Option<Twins> {
    (3..32).rev().map(|shift| 1 << shift).find_map(|bit| twins_of(intervals, bit))
}

fn twins_of(intervals: &[Interval], bit: u32) -> Option<Twins> {
    let within = |first: u32, last: u32| {
        let from = intervals.partition_point(|interval| interval.last < first);
        let to = intervals.partition_point(|interval| interval.first <= last);
        intervals.get(from..to).unwrap_or_default()
    };
    let last = bit + (bit - 1);
    let (without, with) = (within(0, bit - 1), within(bit, last));
    if with.len() < MIN_FEWER || without.len() < MIN_FEWER {
        return None;
    }
    let mut labelled: Vec<Stretch> = Vec::new();
    let mut others = without.iter().peekable();
    for interval in with {
        let mut at = interval.first.max(bit);
        let end = interval.last.min(last);
        while let Some(other) = others.peek() {
            let same = other.then == interval.then;
            let to = if same { To::Same } else { To::Exit(interval.then) };
            let other_end = other.last.min(bit - 1) | bit;
            let until = end.min(other_end);
            match labelled.last_mut() {
                Some(stretch) if stretch.2 == to => stretch.1 = until,
                _ => labelled.push((at, until, to)),
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
    if labelled.len() + MIN_FEWER > with.len() {
        return None;
    }
    let outside = |first: u32, last: u32| {
        within(first, last).iter().map(move |interval| {
            (interval.first.max(first), interval.last.min(last), To::Exit(interval.then))
        })
    };
    let mut all: Vec<Stretch> = outside(0, bit - 1).collect();
    all.push((bit, last, To::Twin));
    if last < u32::MAX {
        all.extend(outside(last + 1, u32::MAX));
    }
    Some(Twins { bit, all, with: labelled })
}

/// The tree for values below `bit`, where `never` is a class of none of them.
pub(super) fn below(tree: &Tree, bit: u32, never: usize) -> Tree {
    let mut pruned = Tree::default();
    // Per node, what it has become; `None` where no value below comes.
    let mut now: Vec<Option<usize>> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let sides = match *node {
            Node::Leaf { class } => {
                now.push((class != never).then(|| pruned.push(*node)));
                continue;
            }
            Node::Test { split: Split::Equal(k) | Split::AtLeast(k), then, otherwise } => {
                (now[then].filter(|_| k < bit), now[otherwise])
            }
            Node::AnyBit { mask, then, otherwise } => {
                (now[then].filter(|_| mask & (bit - 1) != 0), now[otherwise])
            }
            Node::Window { then, otherwise, .. } => (now[then], now[otherwise]),
        };
        now.push(match sides {
            (Some(then), Some(otherwise)) => Some(pruned.push(node.with_sides(then, otherwise))),
            (only, None) | (None, only) => only,
        });
    }
    // The root comes last, also when it is a node that stands further to the front.
    let root = now.last().copied().flatten().unwrap_or(0);
    pruned.nodes.truncate(root + 1);
    pruned
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::verdict::Verdict;
    use callgate_proof::diagram::Store;

    /// Numbers below 64 with some pattern, and again with bit 6, but for the chosen ones.
    fn numbers(differ: &[u32]) -> (Vec<Interval>, impl Fn(u32) -> Func) {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let differ = differ.to_vec();
        let to = move |value: u32| {
            let pattern = value < 128 && (value & 63) * 7 % 5 < 2;
            let differs = (64..128).contains(&value) && differ.contains(&(value & 63));
            if pattern ^ differs { allow } else { deny }
        };
        let mut runs: Vec<Interval> = Vec::new();
        for value in 0..130 {
            match runs.last_mut() {
                Some(run) if run.then == to(value) => run.last = value,
                _ => runs.push(Interval { first: value, last: value, then: to(value) }),
            }
        }
        runs.last_mut().unwrap().last = u32::MAX;
        (runs, to)
    }

    #[test]
    fn twins_say_the_same_as_the_runs() {
        for differ in [&[][..], &[0], &[5, 6, 7, 40], &[63]] {
            let (runs, to) = numbers(differ);
            let Twins { bit, all, with } = twins(&runs).unwrap();
            assert_eq!(bit, 64);
            let find = |stretches: &[Stretch], value: u32| {
                stretches
                    .iter()
                    .find(|(first, last, _)| (*first..=*last).contains(&value))
                    .unwrap()
                    .2
            };
            for value in (0..128).chain([1000, u32::MAX]) {
                let mut at = find(&all, value);
                if at == To::Twin {
                    at = find(&with, value);
                }
                if at == To::Same {
                    at = find(&all, value & !bit);
                }
                assert_eq!(at, To::Exit(to(value)), "{value} {differ:?}");
            }
        }
    }

    #[test]
    fn numbers_that_differ_are_no_twins() {
        let every_third: Vec<u32> = (0..64).step_by(3).collect();
        let (runs, _) = numbers(&every_third);
        assert_eq!(twins(&runs), None);
    }
}
