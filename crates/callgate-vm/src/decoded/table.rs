//! Jump tables, binary searches and tests for the ranges of a [`Walk`](crate::flow::walk::Walk).

use super::emit::Emitter;
use super::op::{Dense, NOWHERE, Op, Search, Test};
use crate::cached::CACHED_NUMBERS;
use crate::flow::walk::Range;

/// Wider ranges do not go into a jump table.
const GAP: u32 = 256;

/// At most this many consecutive tests are faster than a binary search.
const FEW_TESTS: usize = 4;

impl Emitter<'_> {
    /// Emits a jump by the value of A: a jump table for values that are close together, a search for the
    /// others. With `of_nr` the syscall number is loaded into A first.
    pub(super) fn table(&mut self, ranges: &[Range], of_nr: bool) {
        for range in ranges {
            self.wanted.push(usize::from(range.to));
        }
        let (inside, outside) = divide(ranges, of_nr);
        let width: usize = inside.iter().map(|range| (range.high - range.low + 1) as usize).sum();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
            return self.search(ranges, of_nr);
        };
        if width > self.work {
            return self.search(ranges, of_nr);
        }
        self.work -= width;
        let (base, len) = (first.low, last.high - first.low + 1);
        let start = self.code.targets.len() as u32;
        for range in &inside {
            let count = (range.high - range.low + 1) as usize;
            self.code.targets.extend(std::iter::repeat_n(range.to, count));
        }
        let mut dense = Dense { base, start, len, otherwise: NOWHERE };
        let op = |dense| if of_nr { Op::DenseNr(dense) } else { Op::Dense(dense) };
        match outside.as_slice() {
            // A table for all values of a byte leaves no value outside.
            [] => dense.otherwise = first.to,
            [all] => dense.otherwise = all.to,
            _ => {
                dense.otherwise = self.place_of(self.code.ops.len() + 1);
                self.code.ops.push(op(dense));
                self.search(&outside, of_nr);
                return;
            }
        }
        self.code.ops.push(op(dense));
    }

    /// Emits a jump by A, or by the syscall number: tests for few ranges, a binary search for many.
    fn search(&mut self, ranges: &[Range], of_nr: bool) {
        let Some((last, others)) = ranges.split_last() else { return };
        if others.len() > FEW_TESTS {
            if of_nr {
                self.code.ops.push(Op::LoadNr);
            }
            let (bounds, targets) = (self.code.bounds.len() as u32, self.code.targets.len() as u32);
            self.code.bounds.extend(ranges.iter().skip(1).map(|range| range.low));
            self.code.targets.extend(ranges.iter().map(|range| range.to));
            let len = others.len() as u32;
            self.code.ops.push(Op::Search(Search { bounds, targets, len }));
            return;
        }
        for (at, range) in others.iter().enumerate() {
            let no = if at + 1 == others.len() {
                last.to
            } else {
                self.place_of(self.code.ops.len() + 1)
            };
            let span = range.high - range.low;
            let test = Test { mask: u32::MAX, lo: range.low, span, yes: range.to, no };
            self.code.ops.push(if of_nr { Op::TestNr(test) } else { Op::Test(test) });
        }
    }
}

/// The ranges inside a jump table (perhaps none), and those outside. A range outside may overlap the
/// table, which is looked up first.
fn divide(ranges: &[Range], of_nr: bool) -> (Vec<Range>, Vec<Range>) {
    let numbers = of_nr && ranges.get(1).is_some_and(|range| range.low < CACHED_NUMBERS);
    if numbers {
        // Even a short list becomes a table of all syscall numbers, because the processor cannot predict
        // which syscall comes next.
        let inside = ranges.iter().take_while(|range| range.low < CACHED_NUMBERS);
        let inside =
            inside.map(|&range| Range { high: range.high.min(CACHED_NUMBERS - 1), ..range });
        let outside = ranges.iter().filter(|range| range.high >= CACHED_NUMBERS);
        return (inside.collect(), outside.copied().collect());
    }
    let cluster = cluster(ranges);
    if cluster.len() < FEW_TESTS {
        return (Vec::new(), Vec::new());
    }
    let (before, rest) = ranges.split_at(cluster.start);
    let (inside, behind) = rest.split_at(cluster.len());
    let mut outside = before.to_vec();
    for &range in behind {
        match outside.last_mut() {
            Some(last) if last.to == range.to => last.high = range.high,
            Some(last) => {
                last.high = range.low - 1;
                outside.push(range);
            }
            None => outside.push(range),
        }
    }
    (inside.to_vec(), outside)
}

/// The longest sequence of ranges of which none is wider than [`GAP`].
fn cluster(ranges: &[Range]) -> std::ops::Range<usize> {
    let mut best = 0..0;
    let mut start = 0;
    for (at, range) in ranges.iter().enumerate() {
        if range.high - range.low > GAP {
            start = at + 1;
        } else if at + 1 - start > best.len() {
            best = start..at + 1;
        }
    }
    best
}
