//! The tree of the choices of a range search.

use super::bitset;
use super::holed::Range;
use super::masks;
use super::node::{Node, Tree};
use super::range_search::{Choice, RangeSearch};
use super::subsets::Subset;
use callgate_core::diagram::Split;

impl RangeSearch {
    /// Adds the chosen tree of the whole range, and its cost.
    pub(super) fn build(&mut self, tree: &mut Tree) -> usize {
        tree.cost += self.total();
        self.emit((0, self.intervals.len() - 1, 0), tree)
    }

    /// Adds the chosen tree of a range. Each recursion has fewer intervals or more holes.
    fn emit(&mut self, range: Range, tree: &mut Tree) -> usize {
        let (low, high, count) = range;
        let holes = self.holes(range);
        let first_live = || (low..=high).find(|i| !holes.contains(*i)).unwrap_or(low);
        match self.choice(range, &holes) {
            Choice::Leaf => tree.leaf(self.intervals[first_live()].class),
            Choice::Exact => {
                let set = Subset::new(low, high, &holes);
                self.exact.cost(set);
                self.exact.emit(set, tree)
            }
            choice @ (Choice::Split(_) | Choice::CheapestSplit) => {
                let at = match choice {
                    Choice::Split(at) => low + usize::from(at),
                    _ => {
                        let (first, last) = self.costs.units(low, high);
                        self.starts[self.costs.start_of_cheapest_split(first, last)]
                    }
                };
                let left = (low..at).filter(|interval| holes.contains(*interval)).count();
                let otherwise = self.emit((low, at - 1, left), tree);
                let then = self.emit((at, high, count - left), tree);
                let split = Split::AtLeast(self.intervals[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit((low, high, count + 1), tree);
                tree.equal(&self.intervals[low + usize::from(single)], otherwise)
            }
            Choice::Chain => {
                let Some(chain) = self.chain(range, &holes) else {
                    return tree.leaf(self.intervals[first_live()].class);
                };
                let singles: Vec<usize> = self.chained(range, chain.class).collect();
                let rest = tree.leaf(chain.class);
                tree.chain(singles.iter().map(|single| &self.intervals[*single]), rest)
            }
            Choice::Masked => {
                let intervals = &self.intervals[low..=high];
                let found = masks::two_classes(intervals).and_then(|classes| {
                    masks::mask_after_singles(intervals, classes, masks::MAX_SINGLES)
                });
                let Some((set, test)) = found else {
                    return tree.leaf(self.intervals[low].class);
                };
                let singles: Vec<usize> = self.before_mask(low, high, set).1.collect();
                let rest = tree.any_bit(test);
                tree.chain(singles.iter().map(|single| &self.intervals[*single]), rest)
            }
            Choice::Bitset => bitset::emit(&self.intervals[low..=high], tree),
        }
    }
}
