//! Functions as pieces: one function per interval of the values of a word.
//!
//! A search tree compares a word once per instruction. If each comparison became a function at once, all of them would
//! be rebuilt from the first bit of the word to the last. As pieces, comparisons only cut and join lists, and the
//! function is built when the whole tree is known.
//!
//! The function of a piece may test the word itself: only its values for the interval count.

use super::compare::var_of;
use super::{DiagramError, Func, Split, Store};
use callgate_bpf::data::Word;

/// The maximum length of a list. Functions with more pieces are built at once.
const MAX_LENGTH: usize = 256;

/// The maximum number of pieces of all lists, which bounds the memory to 1 MiB.
const MAX_PIECES: usize = 1 << 16;

/// The number of pieces that cost a step of the budget.
const PIECES_PER_STEP: usize = 4;

const MISSING_PIECE: DiagramError = DiagramError::defect("the pieces of a function begin at 0");

/// A list of pieces of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        match split {
            Split::AtLeast(k) => {
                if let Some(below) = k.checked_sub(1) {
                    self.copy(start, otherwise, 0, below);
                }
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
        if end - start > MAX_LENGTH || end > MAX_PIECES {
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

    /// The function of pieces of a word.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn func(
        &self,
        store: &mut Store,
        word: Word,
        pieces: Pieces,
    ) -> Result<Func, DiagramError> {
        let pieces = self.0.get(pieces.start..pieces.end).unwrap_or_default();
        let ((_, first), rest) = pieces.split_first().ok_or(MISSING_PIECE)?;
        store.join_pieces(word, (*first, rest), 0, 32)
    }
}

impl Store {
    /// The function of the values of a word that begin with the bits of `base` above the last `bits` bits: `first` from
    /// `base`, and each of the others from its value on. These are sorted, above `base`, and within the values. The
    /// recursion depth is `bits`.
    fn join_pieces(
        &mut self,
        word: Word,
        (first, rest): (Func, &[Piece]),
        base: u32,
        bits: u32,
    ) -> Result<Func, DiagramError> {
        let Some(bit) = bits.checked_sub(1).filter(|_| !rest.is_empty()) else {
            return Ok(self.cofactor_above(first, word, base, bits));
        };
        let middle = base | 1 << bit;
        let (below, above) = rest.split_at(rest.partition_point(|(at, _)| *at < middle));
        let in_middle = match above {
            [(at, func), rest @ ..] if *at == middle => (*func, rest),
            _ => (below.last().map_or(first, |(_, func)| *func), above),
        };
        let low = self.join_pieces(word, (first, below), base, bit)?;
        let high = self.join_pieces(word, in_middle, middle, bit)?;
        self.make_ordered(var_of(word, bit), low, high)
    }

    /// The cofactor of a function for the bits of a value of a word above the last `bits` bits.
    fn cofactor_above(&self, func: Func, word: Word, value: u32, bits: u32) -> Func {
        let mut func = func;
        while self.top_word(func) == Some(word) {
            let var = self.var(func);
            let bit = 31 - u32::from(var % 32);
            if bit < bits {
                break;
            }
            let (low, high) = self.children(func);
            func = if value >> bit & 1 == 1 { high } else { low };
        }
        func
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::verdict::Verdict;

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
            let func = store.split(word, split, then_func, otherwise_func).unwrap();
            assert_eq!(table.func(&mut store, word, pieces).unwrap(), func, "{step}");
            sides.push((Side::Pieces(pieces), func));
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
    }
}
