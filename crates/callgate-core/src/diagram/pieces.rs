//! Functions as pieces: one function per interval of the values of a word.
//!
//! A search tree compares a word once per instruction. If each comparison became a function at once, all of them would
//! be rebuilt from the first bit of the word to the last. As pieces, comparisons only cut and join lists, and the
//! function is built when the whole tree is known.
//!
//! The function of a piece may test the word itself: only its values for the interval count. It may be a placeholder for a
//! function that tests earlier words, as in an [outline](super::outline).

use rustc_hash::FxHashMap as HashMap;

use super::node::Node;
use super::{DiagramError, Func, Split, Store};
use crate::Word;

/// The maximum length of a list, unless each side of its comparison has a quarter of it: a chain of comparisons would copy
/// the list of all others for each of them, a tree copies each piece once per level. Functions with more pieces are built
/// at once.
const MAX_LENGTH: usize = 256;

/// The maximum number of pieces of all lists, which bounds the memory to 2 MiB.
const MAX_PIECES: usize = 1 << 17;

/// The number of pieces that cost a step of the budget.
const PIECES_PER_STEP: usize = 4;

/// A list of pieces of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pieces {
    start: usize,
    end: usize,
}

/// What a branch continues with: pieces of the word of its comparison, or a function that tests no earlier word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Pieces(Pieces),
    Func(Func),
}

/// A value of the word, and the function from it up to the value before the next piece of its list.
type Piece = (u32, Func);

/// All lists.
#[derive(Debug, Default)]
pub(super) struct PieceTable(Vec<Piece>);

impl PieceTable {
    /// No lists yet, for a program with this number of states.
    pub(super) fn for_states(states: usize) -> PieceTable {
        PieceTable(Vec::with_capacity(states.min(MAX_PIECES)))
    }

    /// The pieces of the first side where a word fulfills a comparison, and of the second elsewhere; `None` if there
    /// are too many.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn branch(
        &mut self,
        store: &mut Store,
        split: Split,
        [then, otherwise]: [Side; 2],
    ) -> Result<Option<Pieces>, DiagramError> {
        let start = self.0.len();
        let mut middle = start;
        match split {
            Split::AtLeast(k) => {
                if let Some(below) = k.checked_sub(1) {
                    self.copy(start, otherwise, 0, below);
                }
                middle = self.0.len();
                self.copy(start, then, k, u32::MAX);
            }
            Split::Equal(k) => {
                if let Some(below) = k.checked_sub(1) {
                    self.copy(start, otherwise, 0, below);
                }
                self.copy(start, then, k, k);
                if let Some(above) = k.checked_add(1) {
                    self.copy(start, otherwise, above, u32::MAX);
                }
            }
        }
        let end = self.0.len();
        store.charge_steps(((end - start) / PIECES_PER_STEP) as u64)?;
        let is_balanced = 4 * (middle - start).min(end - middle) >= end - start;
        if end - start > MAX_LENGTH && !is_balanced || end > MAX_PIECES {
            self.0.truncate(start);
            return Ok(None);
        }
        Ok(Some(Pieces { start, end }))
    }

    /// Appends the pieces of the values from `first` to `last` to the list that begins at `start`.
    fn copy(&mut self, start: usize, from: Side, first: u32, last: u32) {
        match from {
            Side::Func(func) => self.push(start, (first, func)),
            Side::Pieces(pieces) => {
                let of = self.0.get(pieces.start..pieces.end).unwrap_or_default();
                let next = pieces.start + of.partition_point(|(at, _)| *at <= first);
                // The piece of `first`, and those that begin after it.
                for index in next.saturating_sub(1)..pieces.end {
                    let Some((at, func)) = self.0.get(index).copied() else { break };
                    if at > last {
                        break;
                    }
                    self.push(start, (at.max(first), func));
                }
            }
        }
    }

    /// Appends a piece, unless it continues the last one.
    fn push(&mut self, start: usize, piece: Piece) {
        let list = self.0.get(start..).unwrap_or_default();
        if list.last().is_none_or(|(_, func)| *func != piece.1) {
            self.0.push(piece);
        }
    }

    /// The function of pieces of the bits `mask` of a word, with the others zero. Unless these are all bits, the functions of
    /// the pieces test no word up to this one.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn func(
        &self,
        store: &mut Store,
        (word, mask): (Word, u32),
        pieces: Pieces,
    ) -> Result<Func, DiagramError> {
        let pieces = self.0.get(pieces.start..pieces.end).unwrap_or_default();
        let id = store.join(word, mask, pieces.iter().map(|(at, func)| (*at, func.id())))?;
        Ok(store.handle(id))
    }

    /// The function of pieces of a word, some of which are placeholders for functions that test earlier words.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn filled(
        &self,
        store: &mut Store,
        word: Word,
        pieces: Pieces,
    ) -> Result<Func, DiagramError> {
        let mut funcs: Vec<u32> = Vec::new();
        let mut number_of: HashMap<Func, usize> = HashMap::default();
        let list = self.0.get(pieces.start..pieces.end).unwrap_or_default();
        let mut place = |func| {
            *number_of.entry(func).or_insert_with(|| {
                funcs.push(store.resolve_placeholder(func).id());
                funcs.len() - 1
            })
        };
        let places: Vec<(u32, usize)> = list.iter().map(|(at, func)| (*at, place(*func))).collect();
        match store.join_below(word, &places, funcs)? {
            Some(func) => Ok(store.handle(func)),
            None => {
                let outline = self.func(store, (word, u32::MAX), pieces)?;
                store.fill_in(outline, word)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::var_of;
    use super::*;
    use crate::Verdict;
    use crate::policy::Cmp;

    /// Chains and trees of comparisons over functions that test the word themselves, or do not.
    #[test]
    fn pieces_equal_comparisons_applied_one_by_one() {
        let word = Word::NR;
        let mut store = Store::default();
        let verdicts = [1, 2, 3].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let bit = store.any_bit(word, 0x8000_0005).unwrap();
        let masked = store.select(bit, verdicts[0], verdicts[1]).unwrap();
        let later = store.any_bit(Word::IP_LOW, 1).unwrap();
        let later = store.select(later, verdicts[2], masked).unwrap();
        let leaves = [verdicts[0], verdicts[1], masked, verdicts[2], later];
        let mut table = PieceTable::default();
        let mut sides: Vec<(Side, Func)> =
            leaves.iter().map(|func| (Side::Func(*func), *func)).collect();
        let values = [0, 1, 2, 3, 7, 8, 100, 1 << 31, u32::MAX - 1, u32::MAX];
        for step in 0..2000usize {
            let k = values[step * 7 % 11 % values.len()];
            let split = if step % 3 == 0 { Split::Equal(k) } else { Split::AtLeast(k) };
            let (then, then_func) = sides[step * 13 % sides.len()];
            let (otherwise, otherwise_func) = sides[step * 31 % sides.len()];
            let pieces = table.branch(&mut store, split, [then, otherwise]).unwrap().unwrap();
            let func = store.split_by_predicate(word, split, then_func, otherwise_func).unwrap();
            assert_eq!(table.func(&mut store, (word, u32::MAX), pieces).unwrap(), func, "{step}");
            sides.push((Side::Pieces(pieces), func));
        }
    }

    /// The same for some bits of the word, over functions that test later words.
    #[test]
    fn masked_pieces_equal_comparisons_applied_one_by_one() {
        let word = Word::arg_low(0).unwrap();
        let values = [0, 1, 2, 3, 7, 8, 100, 1 << 30, 1 << 31, u32::MAX - 1, u32::MAX];
        for mask in [0xbfff_ffff, 0x8000_0005, 0xffff_fff0, 0x7, 0] {
            let mut store = Store::default();
            let verdicts = [1, 2, 3].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
            let later = store.any_bit(Word::arg_low(1).unwrap(), 1).unwrap();
            let later = store.select(later, verdicts[2], verdicts[0]).unwrap();
            let leaves = [verdicts[0], verdicts[1], verdicts[2], later];
            let mut table = PieceTable::default();
            let mut sides: Vec<(Side, Func)> =
                leaves.iter().map(|func| (Side::Func(*func), *func)).collect();
            for step in 0..400usize {
                let k = values[step * 7 % 13 % values.len()];
                let (split, cmp) = match step % 3 {
                    0 => (Split::Equal(k), Cmp::Eq),
                    _ => (Split::AtLeast(k), Cmp::Ge),
                };
                let (then, then_func) = sides[step * 13 % sides.len()];
                let (otherwise, otherwise_func) = sides[step * 31 % sides.len()];
                let pieces = table.branch(&mut store, split, [then, otherwise]).unwrap().unwrap();
                let holds = store.compare_word(word, mask, cmp, k).unwrap();
                let func = store.select(holds, then_func, otherwise_func).unwrap();
                assert_eq!(table.func(&mut store, (word, mask), pieces).unwrap(), func, "{step}");
                sides.push((Side::Pieces(pieces), func));
            }
        }
    }

    /// The same over functions that test earlier words: few combinations of their cofactors, and too many.
    #[test]
    fn filled_pieces_equal_comparisons_applied_one_by_one() {
        let [high, low] = [Word::arg_high(1).unwrap(), Word::arg_low(1).unwrap()];
        for (count, bits) in [(3_u32, 2), (12, 2), (12, 12)] {
            let mut store = Store::default();
            let mut table = PieceTable::default();
            let mut sides: Vec<(Side, Func)> = Vec::new();
            for number in 0..count {
                let [then, otherwise] = [number % 4, number % 3 + 1]
                    .map(|errno| store.verdict(Verdict::errno(errno as u16)).unwrap());
                let earlier = store.any_bit(high, 1 << (number % bits)).unwrap();
                let same = store.any_bit(low, 1 << (number % 5)).unwrap();
                let inner = store.select(same, then, otherwise).unwrap();
                let func = store.select(earlier, inner, otherwise).unwrap();
                let leaf = store.with_placeholders(var_of(low, 31), [func, func]).unwrap()[0];
                sides.push((Side::Func(leaf), func));
            }
            let mut all = sides[0];
            for (k, (leaf, leaf_func)) in (1..).zip(sides.clone()) {
                let split = Split::AtLeast(k * 3);
                let pieces = table.branch(&mut store, split, [leaf, all.0]).unwrap().unwrap();
                all = (
                    Side::Pieces(pieces),
                    store.split_by_predicate(low, split, leaf_func, all.1).unwrap(),
                );
                assert_eq!(table.filled(&mut store, low, pieces).unwrap(), all.1, "{k}");
            }
            let values = [0, 1, 2, 3, 7, 8, 100, 1 << 31, u32::MAX - 1, u32::MAX];
            let mut placeholders = 0;
            for step in 0..400usize {
                let k = values[step * 7 % 11 % values.len()];
                let split = if step % 3 == 0 { Split::Equal(k) } else { Split::AtLeast(k) };
                let (then, then_func) = sides[step * 13 % sides.len()];
                let (otherwise, otherwise_func) = sides[step * 31 % sides.len()];
                let pieces = table.branch(&mut store, split, [then, otherwise]).unwrap().unwrap();
                let func = store.split_by_predicate(low, split, then_func, otherwise_func).unwrap();
                assert_eq!(table.filled(&mut store, low, pieces).unwrap(), func, "{step}");
                placeholders += usize::from(store.var(func) < var_of(low, 31));
                sides.push((Side::Pieces(pieces), func));
            }
            assert!(placeholders > 300, "{placeholders}");
        }
    }

    #[test]
    fn long_lists_are_refused_and_forgotten() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let mut table = PieceTable::default();
        let mut chain = Side::Func(deny);
        let mut length = 0;
        for k in (0..).step_by(2) {
            let sides = [Side::Func(allow), chain];
            let Some(pieces) = table.branch(&mut store, Split::Equal(k), sides).unwrap() else {
                break;
            };
            length = pieces.end - pieces.start;
            assert_eq!(table.0.len(), pieces.end);
            chain = Side::Pieces(pieces);
        }
        assert!((MAX_LENGTH - 2..=MAX_LENGTH).contains(&length), "{length}");
        let Side::Pieces(last) = chain else { panic!() };
        assert_eq!(table.0.len(), last.end);
        // Of a tree, each side has half of the pieces.
        let above = (0x8000_0000..).step_by(2).take(100).try_fold(Side::Func(deny), |chain, k| {
            let sides = [Side::Func(allow), chain];
            table.branch(&mut store, Split::Equal(k), sides).unwrap().map(Side::Pieces)
        });
        let tree = table.branch(&mut store, Split::AtLeast(1 << 31), [above.unwrap(), chain]);
        let tree = tree.unwrap().unwrap();
        assert!(tree.end - tree.start > MAX_LENGTH + 150);
    }
}
