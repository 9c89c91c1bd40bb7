//! The costs of ranges without holes.

use std::ops::Range;

use super::holes::Holes;

/// The costs of the ranges of `n` intervals that were solved so far.
pub(super) struct PlainCosts {
    /// The number of units.
    n: usize,
    /// Per boundary of intervals, the first unit from there on, and the number of units before.
    ceil: Vec<usize>,
    floor: Vec<usize>,
    /// By `low * n + high` and also by `high * n + low`, so that the costs of both parts of all splits of a range are
    /// contiguous. Infinite for ranges that are not solved, and at the end for [`LANES`].
    costs: Vec<f64>,
}

impl PlainCosts {
    pub(super) fn new(starts: &[usize], intervals: usize) -> PlainCosts {
        let n = starts.len();
        let mut ceil = vec![n; intervals + 1];
        let mut floor = vec![n; intervals + 1];
        let mut from = 0;
        for (unit, start) in starts.iter().enumerate() {
            ceil[from..=*start].fill(unit);
            floor[from..*start].fill(unit.saturating_sub(1));
            from = start + 1;
            floor[*start] = unit;
        }
        floor[from.min(intervals)..intervals].fill(n - 1);
        PlainCosts { n, ceil, floor, costs: vec![f64::INFINITY; n * n + LANES] }
    }

    /// The units that begin at one of these intervals.
    pub(super) fn units_from(&self, first: usize, last: usize) -> Range<usize> {
        self.ceil[first]..self.floor[last] + 1
    }

    /// The number of a range that begins and ends at boundaries.
    pub(super) fn number(&self, low: usize, high: usize) -> usize {
        self.ceil[low] * self.n + self.floor[high + 1] - 1
    }

    /// The first and the last unit of a range.
    pub(super) fn units(&self, low: usize, high: usize) -> (usize, usize) {
        (self.ceil[low], self.floor[high + 1] - 1)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, first: usize, last: usize, cost: f64) {
        self.costs[first * self.n + last] = cost;
        self.costs[last * self.n + first] = cost;
    }

    /// The cost of the range from `low` up to the interval before `end`; it may be empty.
    #[inline(always)]
    pub(super) fn get(&self, low: usize, end: usize) -> f64 {
        let (low, end) = (self.ceil[low], self.floor[end]);
        if low < end { self.costs[low * self.n + end - 1] } else { 0.0 }
    }

    /// For a range that is not solved yet: the costs of the lower and of the upper part, for each interval at which the upper
    /// part may begin. The slices are padded to a multiple of [`LANES`]. The sums in the padding are infinite, because their
    /// lower parts are at least as long as the range.
    #[inline(always)]
    fn parts(&self, first: usize, last: usize) -> (&[f64], &[f64]) {
        let (left, right) = (first * self.n + first, last * self.n + first + 1);
        let len = (last - first).next_multiple_of(LANES);
        (&self.costs[left..left + len], &self.costs[right..right + len])
    }

    /// The least sum of the costs of both parts of a range. Neither it nor the longer ranges that begin with it are solved yet.
    #[inline(always)]
    pub(super) fn cheapest_split(&self, first: usize, last: usize) -> f64 {
        let (left, right) = self.parts(first, last);
        least_sum(left, right)
    }

    /// The first unit with which the upper part of a cheapest split of a range begins.
    pub(super) fn start_of_cheapest_split(&self, first: usize, last: usize) -> usize {
        let (left, right) = self.parts(first, last);
        let sums = left.iter().zip(right).take(last - first).map(|(left, right)| left + right);
        let least = sums.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map_or(last, |(at, _)| first + 1 + at)
    }
}

/// The pieces between the holes of a range. They give a lower bound of its cost: except for masks, a test decides among
/// the values of one piece only, so a tree costs at least as much as those of all pieces.
pub(super) struct Pieces {
    /// The cost of the pieces before the current one, and of the others.
    before: f64,
    from_here: f64,
    start: usize,
    end: usize,
}

impl Pieces {
    /// The first piece is the current one.
    pub(super) fn new(costs: &PlainCosts, low: usize, high: usize, holes: &Holes) -> Pieces {
        let end = |start| holes.next(start).min(high + 1);
        let mut pieces = Pieces { before: 0.0, from_here: 0.0, start: low, end: end(low) };
        let mut start = low;
        while start <= high {
            let end = end(start);
            pieces.from_here += costs.get(start, end);
            start = end + 1;
        }
        pieces
    }

    /// The cost of all pieces.
    pub(super) fn sum(&self) -> f64 {
        self.before + self.from_here
    }

    /// Continues with the piece after this hole, which is the next one.
    pub(super) fn pass(&mut self, costs: &PlainCosts, hole: usize, high: usize, holes: &Holes) {
        let passed = costs.get(self.start, hole);
        self.before += passed;
        self.from_here -= passed;
        self.start = hole + 1;
        self.end = holes.next(self.start).min(high + 1);
    }

    /// The end of the current piece.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The first of `units` at which a split may cost less than `bound`. All of them begin in the current piece or at its end.
    #[inline(always)]
    pub(super) fn next_split(
        &self,
        costs: &PlainCosts,
        units: Range<usize>,
        bound: f64,
    ) -> Option<usize> {
        let (first, end) = (costs.ceil[self.start], costs.floor[self.end]);
        let others = self.sum() - costs.get(self.start, self.end);
        let at = |unit: usize| {
            let left = if first < unit { costs.costs[first * costs.n + unit - 1] } else { 0.0 };
            let right = if unit < end { costs.costs[(end - 1) * costs.n + unit] } else { 0.0 };
            (others + left + right < bound).then_some(unit)
        };
        let inner = units.start.max(first + 1)..units.end.min(end);
        if inner.is_empty() {
            return units.clone().find_map(at);
        }
        let lefts = &costs.costs[first * costs.n..][inner.start - 1..inner.end - 1];
        let rights = &costs.costs[(end - 1) * costs.n..][inner.clone()];
        let is_below = |(left, right): (&f64, &f64)| others + left + right < bound;
        (units.start..inner.start)
            .find_map(at)
            .or_else(|| at(inner.start + lefts.iter().zip(rights).position(is_below)?))
            .or_else(|| (inner.end..units.end).find_map(at))
    }
}

/// The number of sums that are computed together.
const LANES: usize = 8;

/// The smallest sum of two numbers with the same index. This is the innermost loop of the dynamic program: independent
/// minima permit parallel execution.
fn least_sum(left: &[f64], right: &[f64]) -> f64 {
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let mut least = [f64::INFINITY; LANES];
    for (left, right) in left.chunks_exact(LANES).zip(right.chunks_exact(LANES)) {
        for lane in 0..LANES {
            least[lane] = lesser(least[lane], left[lane] + right[lane]);
        }
    }
    let mut lanes = LANES;
    while lanes > 1 {
        lanes /= 2;
        for lane in 0..lanes {
            least[lane] = lesser(least[lane], least[lane + lanes]);
        }
    }
    least[0]
}
