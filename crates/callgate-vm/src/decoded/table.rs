//! Many ways at once: from the pieces of [`spread`](super::spread) to tables, searches and tests.

use super::emit::{Emitter, NOWHERE};
use super::op::{Dense, Op, Search, Test};
use super::spread::Piece;
use crate::cached::NUMBERS;

/// How far apart values in the same dense table are at most.
const GAP: u32 = 256;

/// Up to so many tests in a row are faster than a search.
const FEW_TESTS: usize = 4;

impl Emitter<'_> {
    /// Jumps by A, which leads to these pieces: the values that are close together by a dense table,
    /// the others by a search. With `of_nr` the number of the call is loaded into A first.
    pub(super) fn table(&mut self, pieces: &[Piece], of_nr: bool) {
        for piece in pieces {
            self.wanted.push(usize::from(piece.target));
        }
        let (inside, outside) = divide(pieces, of_nr);
        let width: usize = inside.iter().map(|piece| (piece.last - piece.first + 1) as usize).sum();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
            return self.search(pieces, of_nr);
        };
        if width > self.work {
            return self.search(pieces, of_nr);
        }
        self.work -= width;
        let (base, len) = (first.first, last.last - first.first + 1);
        let start = self.code.targets.len() as u32;
        for piece in &inside {
            let count = (piece.last - piece.first + 1) as usize;
            self.code.targets.extend(std::iter::repeat_n(piece.target, count));
        }
        let mut dense = Dense { base, start, len, otherwise: NOWHERE };
        let op = |dense| if of_nr { Op::DenseNr(dense) } else { Op::Dense(dense) };
        match outside.as_slice() {
            // Nothing is outside of a table for all values of a byte.
            [] => dense.otherwise = first.target,
            [all] => dense.otherwise = all.target,
            _ => {
                dense.otherwise = self.place_of(self.code.ops.len() + 1);
                self.code.ops.push(op(dense));
                self.search(&outside, of_nr);
                return;
            }
        }
        self.code.ops.push(op(dense));
    }

    /// Jumps by A, or by the number of the call, to a few pieces by tests, to many by a search.
    fn search(&mut self, pieces: &[Piece], of_nr: bool) {
        let Some((last, others)) = pieces.split_last() else { return };
        if others.len() > FEW_TESTS {
            if of_nr {
                self.code.ops.push(Op::LoadNr);
            }
            let (bounds, targets) = (self.code.bounds.len() as u32, self.code.targets.len() as u32);
            self.code.bounds.extend(pieces.iter().skip(1).map(|piece| piece.first));
            self.code.targets.extend(pieces.iter().map(|piece| piece.target));
            let len = others.len() as u32;
            self.code.ops.push(Op::Search(Search { bounds, targets, len }));
            return;
        }
        for (at, piece) in others.iter().enumerate() {
            let no = if at + 1 == others.len() {
                last.target
            } else {
                self.place_of(self.code.ops.len() + 1)
            };
            let span = piece.last - piece.first;
            let test = Test { mask: u32::MAX, lo: piece.first, span, yes: piece.target, no };
            self.code.ops.push(if of_nr { Op::TestNr(test) } else { Op::Test(test) });
        }
    }
}

/// The pieces that a dense table holds, and those outside of it: there may be none inside. What the
/// pieces outside say about values inside does not matter.
fn divide(pieces: &[Piece], of_nr: bool) -> (Vec<Piece>, Vec<Piece>) {
    let numbers = of_nr && pieces.get(1).is_some_and(|piece| piece.first < NUMBERS);
    if numbers {
        // Even a short list is a table of all numbers that there are: which of them comes next cannot be
        // foreseen.
        let inside = pieces.iter().take_while(|piece| piece.first < NUMBERS);
        let inside = inside.map(|&piece| Piece { last: piece.last.min(NUMBERS - 1), ..piece });
        let outside = pieces.iter().filter(|piece| piece.last >= NUMBERS);
        return (inside.collect(), outside.copied().collect());
    }
    let cluster = cluster(pieces);
    if cluster.len() < FEW_TESTS {
        return (Vec::new(), Vec::new());
    }
    let (before, rest) = pieces.split_at(cluster.start);
    let (inside, behind) = rest.split_at(cluster.len());
    let mut outside = before.to_vec();
    for &piece in behind {
        match outside.last_mut() {
            Some(last) if last.target == piece.target => last.last = piece.last,
            Some(last) => {
                last.last = piece.first - 1;
                outside.push(piece);
            }
            None => outside.push(piece),
        }
    }
    (inside.to_vec(), outside)
}

/// The most pieces in a row of which none is wide.
fn cluster(pieces: &[Piece]) -> std::ops::Range<usize> {
    let mut best = 0..0;
    let mut start = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if piece.last - piece.first > GAP {
            start = at + 1;
        } else if at + 1 - start > best.len() {
            best = start..at + 1;
        }
    }
    best
}
