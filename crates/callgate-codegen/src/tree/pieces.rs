//! Search trees over pieces of intervals, where masks may come before other tests.
//!
//! Short intervals are cut into single values, so that a mask may separate them. The tree is optimal among those of equality
//! tests, order tests at the bounds of pieces, tests of masks, each with any tests after it, and bitset tests. It is meant
//! for few values: there are at most [`MAX_PIECES`] pieces and [`MAX_GROUPS`] groups of bits.
//!
//! A test of a mask must leave A unchanged, so `jset` must be allowed.

use callgate_core::diagram::Split;
use rustc_hash::FxHashMap as HashMap;

use super::masks::{all_bits, all_share_a_bit, members};
use super::node::{MAX_BITSET, Node, Tree, WeightedInterval, bitset_insns};
use super::price::Price;

/// The maximum number of pieces.
const MAX_PIECES: usize = 10;

/// Intervals with at most this number of values are cut.
const MAX_CUT: u32 = 4;

/// The maximum number of groups of bits that the pieces distinguish; masks are unions of groups.
const MAX_GROUPS: usize = 6;

/// A set of pieces.
type Set = u16;

/// The cheapest tree over pieces of intervals, if it costs less than a bound.
pub(crate) fn tree_of_pieces(
    intervals: &[WeightedInterval],
    price: Price,
    bound: f64,
) -> Option<Tree> {
    if intervals.len() > MAX_PIECES {
        return None;
    }
    let pieces = cut(intervals);
    let masks = masks(&pieces)?;
    let mut of_class: Vec<(usize, Set)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match of_class.iter_mut().find(|(class, _)| *class == piece.class) {
            Some((_, set)) => *set |= 1 << at,
            None => of_class.push((piece.class, 1 << at)),
        }
    }
    let all = Set::MAX >> (Set::BITS as usize - pieces.len());
    let mut search = Search { pieces, masks, of_class, price, known: HashMap::default() };
    let cost = search.solve(all, bound)?;
    let mut tree = Tree { cost, ..Tree::default() };
    search.emit(all, &mut tree);
    Some(tree)
}

/// Cuts the shortest intervals into single values, as long as there are not too many pieces.
fn cut(intervals: &[WeightedInterval]) -> Vec<WeightedInterval> {
    let values = |interval: &WeightedInterval| (interval.last - interval.first).saturating_add(1);
    let (mut longest, mut count) = (1, intervals.len());
    for length in 2..=MAX_CUT {
        let of_length = intervals.iter().filter(|interval| values(interval) == length).count();
        count += of_length * (length as usize - 1);
        if count > MAX_PIECES {
            break;
        }
        longest = length;
    }
    let mut pieces = Vec::with_capacity(MAX_PIECES);
    for interval in intervals {
        let length = values(interval);
        if length > longest {
            pieces.push(*interval);
            continue;
        }
        let weight = interval.weight / f64::from(length);
        let single = |value| WeightedInterval { first: value, last: value, weight, ..*interval };
        pieces.extend((interval.first..=interval.last).map(single));
    }
    pieces
}

/// A mask, and the pieces that it can separate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mask {
    mask: u32,
    /// Pieces all of whose values have a bit of the mask.
    set: Set,
    /// Pieces whose values have no bit of the mask.
    clear: Set,
}

impl Mask {
    fn new(mask: u32, pieces: &[WeightedInterval]) -> Mask {
        let (mut set, mut clear) = (0, 0);
        for (at, piece) in pieces.iter().enumerate() {
            if all_share_a_bit(piece.first, piece.last, mask) {
                set |= 1 << at;
            } else if all_bits(piece.first, piece.last) & mask == 0 {
                clear |= 1 << at;
            }
        }
        Mask { mask, set, clear }
    }
}

/// The masks that distinguish pieces; `None` if there are too many.
fn masks(pieces: &[WeightedInterval]) -> Option<Vec<Mask>> {
    // Bits that no value of the other pieces has are only useful together.
    let (_, others) = pieces.split_last()?;
    let low = others.iter().fold(0, |bits, piece| bits | all_bits(piece.first, piece.last));
    let mut groups: Vec<Mask> = Vec::new();
    let bits = (0..u32::BITS).map(|bit| 1 << bit).filter(|bit| low & bit != 0);
    for bit in bits.chain([!low]) {
        let of_bit = Mask::new(bit, pieces);
        let is_same = |group: &&mut Mask| (group.set, group.clear) == (of_bit.set, of_bit.clear);
        if let Some(group) = groups.iter_mut().find(is_same) {
            group.mask |= bit;
        } else if groups.len() == MAX_GROUPS {
            return None;
        } else {
            groups.push(of_bit);
        }
    }
    let mut masks: Vec<Mask> = Vec::new();
    for union in 1..1_usize << groups.len() {
        let chosen = groups.iter().enumerate().filter(|(at, _)| union >> at & 1 == 1);
        let mask = Mask::new(chosen.fold(0, |mask, (_, group)| mask | group.mask), pieces);
        let same = |other: &Mask| (other.set, other.clear) == (mask.set, mask.clear);
        if mask.set != 0 && mask.clear != 0 && !masks.iter().any(same) {
            masks.push(mask);
        }
    }
    Some(masks)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Split(usize),
    Equal(usize),
    AnyBit(usize),
    Bitset(u32),
}

#[derive(Clone, Copy, Debug)]
enum Known {
    Exactly(f64, Choice),
    AtLeast(f64),
}

struct Search {
    pieces: Vec<WeightedInterval>,
    masks: Vec<Mask>,
    of_class: Vec<(usize, Set)>,
    price: Price,
    known: HashMap<Set, Known>,
}

impl Search {
    fn is_uniform(&self, set: Set) -> bool {
        self.of_class.iter().any(|(_, of)| set & !of == 0)
    }

    fn weight(&self, set: Set) -> f64 {
        members(set).filter_map(|at| self.pieces.get(at)).map(|piece| piece.weight).sum()
    }

    /// The cost of the cheapest tree for a set, if it is below a bound. The recursion ends because each part is smaller.
    fn solve(&mut self, set: Set, bound: f64) -> Option<f64> {
        if self.is_uniform(set) {
            return (bound > 0.0).then_some(0.0);
        }
        match self.known.get(&set) {
            Some(Known::Exactly(cost, _)) => return Some(*cost).filter(|cost| *cost < bound),
            Some(Known::AtLeast(cost)) if *cost >= bound => return None,
            _ => {}
        }
        let weight = self.weight(set);
        let test = weight + self.price.size;
        let mut best = None;
        let mut left = bound;
        if test < left {
            for (choice, parts) in self.tests(set) {
                let cost = self.parts(parts, left - test);
                if let Some(cost) = cost {
                    left = test + cost;
                    best = Some((left, choice));
                }
            }
        }
        if let Some((base, insns)) = self.bitset(set) {
            let cost = insns * test;
            if cost < left {
                left = cost;
                best = Some((cost, Choice::Bitset(base)));
            }
        }
        let known = match best {
            Some((cost, choice)) => Known::Exactly(cost, choice),
            None => Known::AtLeast(left),
        };
        self.known.insert(set, known);
        best.map(|(cost, _)| cost)
    }

    /// The cost of both parts, if it is below a bound.
    fn parts(&mut self, [a, b]: [Set; 2], bound: f64) -> Option<f64> {
        let least = |search: &Search, set| match search.is_uniform(set) {
            true => 0.0,
            false => search.weight(set) + search.price.size,
        };
        let (of_a, of_b) = (least(self, a), least(self, b));
        if of_a + of_b >= bound {
            return None;
        }
        let of_a = self.solve(a, bound - of_b)?;
        Some(of_a + self.solve(b, bound - of_a)?)
    }

    /// The tests that distinguish pieces of a set, with both parts. Those after which one part needs no test come first.
    fn tests(&self, set: Set) -> Vec<(Choice, [Set; 2])> {
        let mut tests: Vec<(Choice, [Set; 2])> = Vec::new();
        for at in members(set) {
            let (below, single) = (set & ((1 << at) - 1), 1 << at);
            if below != 0 {
                tests.push((Choice::Split(at), [set & !below, below]));
            }
            if self.pieces.get(at).is_some_and(WeightedInterval::is_single) {
                tests.push((Choice::Equal(at), [single, set & !single]));
            }
        }
        for (at, mask) in self.masks.iter().enumerate() {
            let parts = [set & mask.set, set & mask.clear];
            if parts[0] != 0 && parts[1] != 0 && parts[0] | parts[1] == set {
                tests.push((Choice::AnyBit(at), parts));
            }
        }
        tests.sort_by_key(|(_, parts)| !parts.iter().any(|part| self.is_uniform(*part)));
        tests
    }

    /// The base of a bitset test for a set, and the number of its instructions.
    fn bitset(&self, set: Set) -> Option<(u32, f64)> {
        if !self.price.bitset_tests {
            return None;
        }
        let first = self.pieces.get(set.trailing_zeros() as usize)?.first;
        let last = self.pieces.get(15 - set.leading_zeros() as usize)?.last;
        let classes = self.of_class.iter().filter(|(_, of)| set & of != 0).count();
        match (classes, last.checked_sub(first)?) {
            (2, _) if last < MAX_BITSET => Some((0, bitset_insns(0))),
            (2, ..MAX_BITSET) => Some((first, bitset_insns(first))),
            _ => None,
        }
    }

    /// Adds the tree of a set whose cost is known.
    fn emit(&self, set: Set, tree: &mut Tree) -> usize {
        let first = |set: Set| self.pieces.get(set.trailing_zeros() as usize);
        let class = first(set).map_or(0, |piece| piece.class);
        let choice = match self.known.get(&set) {
            Some(Known::Exactly(_, choice)) if !self.is_uniform(set) => *choice,
            _ => return tree.leaf(class),
        };
        match choice {
            Choice::Split(at) => {
                let below = set & ((1 << at) - 1);
                let otherwise = self.emit(below, tree);
                let then = self.emit(set & !below, tree);
                let split = Split::AtLeast(self.pieces.get(at).map_or(0, |piece| piece.first));
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(at) => {
                let otherwise = self.emit(set & !(1 << at), tree);
                match self.pieces.get(at) {
                    Some(single) => tree.equal(single, otherwise),
                    None => otherwise,
                }
            }
            Choice::AnyBit(at) => {
                let Some(Mask { mask, set: of_set, clear }) = self.masks.get(at).copied() else {
                    return tree.leaf(class);
                };
                let otherwise = self.emit(set & clear, tree);
                let then = self.emit(set & of_set, tree);
                tree.push(Node::AnyBit { mask, then, otherwise })
            }
            Choice::Bitset(base) => {
                let in_class =
                    |at: &usize| self.pieces.get(*at).is_some_and(|of| of.class == class);
                let (mut bits, mut other) = (0, class);
                for at in members(set) {
                    let Some(piece) = self.pieces.get(at) else { continue };
                    if in_class(&at) {
                        let values = piece.first - base..=piece.last - base;
                        bits = values.fold(bits, |bits, bit| bits | 1 << bit);
                    } else {
                        other = piece.class;
                    }
                }
                let then = tree.leaf(class);
                let otherwise = tree.leaf(other);
                tree.push(Node::Bitset { base, bits, then, otherwise })
            }
        }
    }
}
