//! The argument tests of a syscall as libseccomp's graph of 32-bit comparisons.
//!
//! A test becomes one to three comparisons; the high word of a 64-bit argument comes first. Comparisons that are tried one
//! after the other form a *level*; one that decides leads to an action or to another level. Rules are added one by one:
//! equal comparisons are shared, others are inserted into the level, in the order of argument, operator and value.

use callgate::{Endian, Verdict};
use callgate_core::Word;
use callgate_core::policy::{Cmp, Test};

use super::rules::{argument, is_masked};

/// The comparisons of one syscall.
#[derive(Default)]
pub(super) struct Comparisons {
    pub(super) comparisons: Vec<Comparison>,
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    comparisons: Vec<usize>,
    /// The number of edges that lead here.
    edges: usize,
}

/// A comparison of a word.
pub(super) struct Comparison {
    pub(super) offset: u32,
    pub(super) mask: u32,
    pub(super) relation: Relation,
    pub(super) value: u32,
    pub(super) taken: Edge,
    pub(super) otherwise: Edge,
    argument: u8,
    is_high: bool,
    /// The operator of the rule, before `<`, `<=` and `!=` were replaced with other relations.
    original: Cmp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Eq,
    MaskedEq,
    Gt,
    Ge,
}

/// The successor of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// To the next comparison of the level.
    Next,
    Action(Verdict),
    Level(usize),
}

/// The comparisons of a test, and which of their edges are taken if it holds.
struct Tested {
    first: usize,
    /// A comparison and whether its taken edge is meant.
    holds: Vec<(usize, bool)>,
}

impl Comparisons {
    /// All combinations of tests of a syscall.
    ///
    /// # Errors
    /// If libseccomp would omit or reject a rule, or link a comparison twice.
    pub(super) fn new(
        combinations: &[(Vec<Test>, Verdict)],
        endian: Endian,
    ) -> Result<Comparisons, &'static str> {
        let mut all = Comparisons::default();
        for (tests, verdict) in combinations {
            let level = all.combination(tests, *verdict, endian);
            if level > 0 {
                all.merge(0, level)?;
            }
        }
        Ok(all)
    }

    /// The comparisons of a level in their order; the first level is 0.
    pub(super) fn level(&self, level: usize) -> impl DoubleEndedIterator<Item = &Comparison> {
        self.levels[level].comparisons.iter().map(|index| &self.comparisons[*index])
    }

    /// The number of reachable comparisons; libseccomp tests syscalls with few of them first.
    pub(super) fn count(&self) -> usize {
        let mut seen = vec![false; self.comparisons.len()];
        let mut levels = vec![0];
        while let Some(level) = levels.pop() {
            for &index in &self.levels[level].comparisons {
                if !std::mem::replace(&mut seen[index], true) {
                    let comparison = &self.comparisons[index];
                    for edge in [comparison.taken, comparison.otherwise] {
                        levels.extend(match edge {
                            Edge::Level(level) => Some(level),
                            _ => None,
                        });
                    }
                }
            }
        }
        seen.into_iter().filter(|seen| *seen).count()
    }

    /// A level with the first comparison of a combination.
    fn combination(&mut self, tests: &[Test], verdict: Verdict, endian: Endian) -> usize {
        let start = self.levels.len();
        let mut ends: Vec<(usize, bool)> = Vec::new();
        for test in tests {
            // The levels of a test are created in the order in which they follow each other.
            let level = self.new_level();
            let tested = self.test(test, endian);
            self.levels[level].comparisons.push(tested.first);
            for (index, taken) in ends {
                self.set(index, taken, Edge::Level(level));
            }
            ends = tested.holds;
        }
        for (index, taken) in ends {
            self.set(index, taken, Edge::Action(verdict));
        }
        start
    }

    fn test(&mut self, test: &Test, endian: Endian) -> Tested {
        let relation = match test.cmp {
            Cmp::Eq if is_masked(test) => Relation::MaskedEq,
            Cmp::Eq | Cmp::Ne => Relation::Eq,
            Cmp::Gt | Cmp::Le => Relation::Gt,
            Cmp::Ge | Cmp::Lt => Relation::Ge,
        };
        let when = !matches!(test.cmp, Cmp::Ne | Cmp::Le | Cmp::Lt);
        let word = |word: Word, is_high: bool, relation: Relation| {
            let shift = if is_high { 32 } else { 0 };
            let mask = (test.mask >> shift) as u32;
            Comparison {
                offset: word.offset(endian),
                mask,
                relation,
                value: (test.value >> shift) as u32 & mask,
                taken: Edge::Next,
                otherwise: Edge::Next,
                argument: argument(test.field).unwrap_or_default(),
                is_high,
                original: test.cmp,
            }
        };
        let low = word(test.field.low_word(), false, relation);
        let Some(high_word) = test.field.high_word() else {
            let first = self.add(low);
            return Tested { first, holds: vec![(first, when)] };
        };
        match relation {
            Relation::Eq | Relation::MaskedEq => {
                let first = self.add(word(high_word, true, relation));
                let low = self.below(first, true, low);
                let holds =
                    if when { vec![(low, true)] } else { vec![(first, false), (low, false)] };
                Tested { first, holds }
            }
            Relation::Gt | Relation::Ge => {
                let first = self.add(word(high_word, true, Relation::Gt));
                let equal = self.below(first, false, word(high_word, true, Relation::Eq));
                let low = self.below(equal, true, low);
                let other = if when { (first, true) } else { (equal, false) };
                Tested { first, holds: vec![other, (low, when)] }
            }
        }
    }

    fn add(&mut self, comparison: Comparison) -> usize {
        self.comparisons.push(comparison);
        self.comparisons.len() - 1
    }

    fn new_level(&mut self) -> usize {
        self.levels.push(Level::default());
        self.levels.len() - 1
    }

    /// Adds a comparison in a new level after an edge of another comparison.
    fn below(&mut self, above: usize, taken: bool, comparison: Comparison) -> usize {
        let (level, index) = (self.new_level(), self.add(comparison));
        self.levels[level].comparisons.push(index);
        self.set(above, taken, Edge::Level(level));
        index
    }

    fn set(&mut self, index: usize, taken: bool, edge: Edge) {
        if let Edge::Level(level) = edge {
            self.levels[level].edges += 1;
        }
        let comparison = &mut self.comparisons[index];
        *(if taken { &mut comparison.taken } else { &mut comparison.otherwise }) = edge;
    }

    /// Adds the only comparison of a new level to a level.
    fn merge(&mut self, level: usize, new: usize) -> Result<(), &'static str> {
        let [added] = self.levels[new].comparisons[..] else {
            return Err("a comparison would be linked twice");
        };
        for place in 0..self.levels[level].comparisons.len() {
            let own = self.levels[level].comparisons[place];
            if self.is_same(own, added) {
                for taken in [true, false] {
                    self.merge_edge(own, added, taken)?;
                }
                return Ok(());
            }
            if self.is_before(added, own) {
                return self.insert(level, place, new);
            }
        }
        self.insert(level, self.levels[level].comparisons.len(), new)
    }

    fn insert(&mut self, level: usize, place: usize, new: usize) -> Result<(), &'static str> {
        if self.levels[new].edges > 1 {
            return Err("a comparison would be linked twice");
        }
        let moved = std::mem::take(&mut self.levels[new].comparisons);
        self.levels[level].comparisons.splice(place..place, moved);
        Ok(())
    }

    fn merge_edge(&mut self, own: usize, added: usize, taken: bool) -> Result<(), &'static str> {
        let edge = |comparison: &Comparison| {
            if taken { comparison.taken } else { comparison.otherwise }
        };
        match (edge(&self.comparisons[own]), edge(&self.comparisons[added])) {
            (_, Edge::Next) => Ok(()),
            (Edge::Next, new) => {
                self.set(own, taken, new);
                Ok(())
            }
            (Edge::Level(level), Edge::Level(new)) => self.merge(level, new),
            (Edge::Action(own), Edge::Action(added)) if own == added => Ok(()),
            _ => Err("two of its rules share a comparison that only one of them ends at"),
        }
    }

    fn is_same(&self, a: usize, b: usize) -> bool {
        let key = |index: usize| {
            let of = &self.comparisons[index];
            (of.argument, of.is_high, of.relation, of.value, of.mask)
        };
        key(a) == key(b)
    }

    /// Whether a new comparison is inserted before another one of its level.
    fn is_before(&self, new: usize, other: usize) -> bool {
        let (new, other) = (&self.comparisons[new], &self.comparisons[other]);
        let rank = |of: &Comparison| {
            let operator = match of.original {
                Cmp::Eq | Cmp::Ne => 3,
                Cmp::Le | Cmp::Lt => 2,
                Cmp::Ge | Cmp::Gt => 1,
            };
            (of.argument, of.is_high, operator)
        };
        match rank(other).cmp(&rank(new)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => match other.original {
                Cmp::Le | Cmp::Lt => other.value > new.value,
                _ => other.value < new.value,
            },
        }
    }
}
