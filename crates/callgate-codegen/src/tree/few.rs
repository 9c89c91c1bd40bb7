//! Few runs: the best tree of all.
//!
//! What tests leave of some runs is again a set of runs: an order test cuts it in two, a test for
//! equality takes a single value out, and a mask may tell two classes apart. So the dynamic program
//! goes over sets, of which there are 2^n. Above [`EXACT`] runs only sets within [`Price::near`] runs in a
//! row are looked at; the dynamic program over ranges builds on them.

use super::{Node, Price, Run, Tree, bits};
use callgate_proof::diagram::Split;

/// Up to so many runs trees are optimal among those with equality tests, order tests at the borders
/// of runs, and masks that decide between two places.
pub(super) const EXACT: usize = 10;

/// A set of runs: the first of them, and which of it and those after it belong to the set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Set {
    low: usize,
    /// Bit 0 is set: it stands for `low`.
    live: u16,
}

impl Set {
    /// The runs from `low` to `high` but for the holes; there must be one.
    pub(super) fn new(low: usize, high: usize, holes: &[usize]) -> Set {
        let all = u16::MAX >> (15 - (high - low).min(15));
        Set::shifted(low, holes.iter().fold(all, |live, hole| live & !(1 << (hole - low).min(15))))
    }

    fn shifted(low: usize, live: u16) -> Set {
        let dead = live.trailing_zeros().min(15);
        Set { low: low + dead as usize, live: live >> dead }
    }

    /// The runs in order.
    fn runs(self) -> impl Iterator<Item = usize> + Clone {
        let next = |live: &u16| Some(*live & (*live - 1)).filter(|live| *live != 0);
        let lives = std::iter::successors(Some(self.live), next);
        lives.map(move |live| self.low + live.trailing_zeros() as usize)
    }

    fn last(self) -> usize {
        self.low + 15 - self.live.leading_zeros().min(15) as usize
    }

    fn without(self, run: usize) -> Set {
        Set::shifted(self.low, self.live & !(1 << (run - self.low)))
    }

    /// The runs before one of the set, and those from it on.
    fn split(self, at: usize) -> [Set; 2] {
        let below = at - self.low;
        let low = Set { low: self.low, live: self.live & ((1 << below) - 1) };
        [low, Set { low: at, live: self.live >> below }]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Leaf,
    /// The right part begins with this run.
    Split(usize),
    /// This run is tested for equality.
    Equal(usize),
    AnyBit(bits::Pair),
}

/// The best trees for all sets of runs that lie near to each other.
pub(super) struct Few<'a> {
    runs: &'a [Run],
    price: Price,
    /// How many runs in a row a set may spread over.
    spread: usize,
    /// What is known of each set, by [`Few::index`].
    known: Vec<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    cost: f64,
    weight: f64,
    /// Whether all runs lead to the same place.
    uniform: bool,
    /// Whether a mask tells the runs apart, or could if they led to two places.
    apart: bool,
}

impl<'a> Few<'a> {
    pub(super) fn new(runs: &'a [Run], price: Price) -> Few<'a> {
        let spread = if runs.len() <= EXACT { runs.len().max(1) } else { price.near };
        let known = vec![Known::default(); runs.len() << (spread - 1)];
        let mut few = Few { runs, price, spread, known };
        // A set leads to sets that begin later, or have the same beginning and fewer runs.
        for low in (0..runs.len()).rev() {
            for live in (1..1u16 << spread.min(runs.len() - low)).step_by(2) {
                let set = Set { low, live };
                let at = few.index(set);
                few.known[at] = few.know(set);
            }
        }
        few
    }

    /// Whether so many runs in a row are few.
    pub(super) fn holds(&self, runs: usize) -> bool {
        runs <= self.spread
    }

    /// The cost of a set within the spread.
    pub(super) fn cost(&self, set: Set) -> f64 {
        self.at(set).cost
    }

    fn index(&self, set: Set) -> usize {
        set.low << (self.spread - 1) | usize::from(set.live >> 1)
    }

    fn at(&self, set: Set) -> &Known {
        &self.known[self.index(set)]
    }

    /// What there is to know about a set, when it is known for smaller ones.
    fn know(&self, set: Set) -> Known {
        let last = set.last();
        let run = &self.runs[last];
        if last == set.low {
            return Known { cost: 0.0, weight: run.weight, uniform: true, apart: true };
        }
        let before = self.at(set.without(last));
        let weight = before.weight + run.weight;
        let uniform = before.uniform && run.class == self.runs[set.low].class;
        // What tells a set apart tells each part of it apart.
        let apart = self.price.masks
            && before.apart
            && self.at(set.without(set.low)).apart
            && (uniform || set.live.count_ones() == 2 || self.pair(set).is_some());
        let cost = match uniform {
            true => 0.0,
            false if apart => weight + self.price.size,
            false => self.cheapest(set).0 + weight + self.price.size,
        };
        Known { cost, weight, uniform, apart }
    }

    fn pair(&self, set: Set) -> Option<bits::Pair> {
        bits::pair(set.runs().map(|run| &self.runs[run]))
    }

    /// What comparison leaves the cheapest rest, and the cost of that.
    fn cheapest(&self, set: Set) -> (f64, Choice) {
        let mut best = (f64::INFINITY, Choice::Leaf);
        for at in set.runs().skip(1) {
            let [low, high] = set.split(at);
            let cost = self.cost(low) + self.cost(high);
            if cost < best.0 {
                best = (cost, Choice::Split(at));
            }
        }
        for single in set.runs().filter(|run| self.runs[*run].is_single()) {
            let cost = self.cost(set.without(single));
            if cost < best.0 {
                best = (cost, Choice::Equal(single));
            }
        }
        best
    }

    fn choice(&self, set: Set) -> Choice {
        let known = self.at(set);
        if known.uniform {
            return Choice::Leaf;
        }
        let (cost, choice) = self.cheapest(set);
        match self.pair(set).filter(|_| known.apart && cost > 0.0) {
            Some(pair) => Choice::AnyBit(pair),
            None => choice,
        }
    }

    /// Adds the best tree of a set; each test leaves fewer runs.
    pub(super) fn emit(&self, set: Set, tree: &mut Tree) -> usize {
        match self.choice(set) {
            Choice::Leaf => tree.leaf(self.runs[set.low].class),
            Choice::Split(at) => {
                let [low, high] = set.split(at);
                let otherwise = self.emit(low, tree);
                let then = self.emit(high, tree);
                let split = Split::AtLeast(self.runs[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit(set.without(single), tree);
                tree.equal(&self.runs[single], otherwise)
            }
            Choice::AnyBit(pair) => tree.any_bit(pair),
        }
    }
}
