//! The costs of ranges without holes.

use super::holes::Holes;

/// The costs of the ranges of `n` intervals that were solved so far.
pub(super) struct PlainCosts {
    n: usize,
    /// By `low * n + high` and also by `high * n + low`, so that the costs of both parts of all splits of a range are
    /// contiguous.
    costs: Vec<f64>,
}

impl PlainCosts {
    pub(super) fn new(n: usize) -> PlainCosts {
        PlainCosts { n, costs: vec![0.0; n * n] }
    }

    pub(super) fn set(&mut self, low: usize, high: usize, cost: f64) {
        self.costs[low * self.n + high] = cost;
        self.costs[high * self.n + low] = cost;
    }

    /// The cost of the range from `low` up to the interval before `end`; it may be empty.
    #[inline(always)]
    pub(super) fn get(&self, low: usize, end: usize) -> f64 {
        if low < end { self.costs[low * self.n + end - 1] } else { 0.0 }
    }

    /// The costs of both parts of a range, for each interval with which the upper part may begin.
    fn parts(&self, low: usize, high: usize) -> (&[f64], &[f64]) {
        let right = &self.costs[high * self.n + low + 1..high * self.n + high + 1];
        (&self.costs[low * self.n + low..low * self.n + high], right)
    }

    /// The least cost of both parts of a range.
    #[inline(always)]
    pub(super) fn cheapest_split(&self, low: usize, high: usize) -> f64 {
        let (left, right) = self.parts(low, high);
        least_sum(left, right)
    }

    /// The first interval with which the upper part of a cheapest split begins.
    pub(super) fn start_of_cheapest_split(&self, low: usize, high: usize) -> usize {
        let (left, right) = self.parts(low, high);
        let least = least_sum(left, right);
        let at = left.iter().zip(right).position(|(left, right)| left + right == least);
        low + 1 + at.unwrap_or(0)
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

    /// The least cost of both parts of a split at an interval of the current piece.
    #[inline(always)]
    pub(super) fn at_least(&self, costs: &PlainCosts, at: usize) -> f64 {
        self.sum() - costs.get(self.start, self.end)
            + costs.get(self.start, at)
            + costs.get(at, self.end)
    }
}

/// The smallest sum of two numbers with the same index. This is the innermost loop of the dynamic program: four independent minima permit parallel execution.
fn least_sum(left: &[f64], right: &[f64]) -> f64 {
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let mut least = [f64::INFINITY; 4];
    let (left_fours, right_fours) = (left.chunks_exact(4), right.chunks_exact(4));
    let rest = left_fours.remainder().iter().zip(right_fours.remainder());
    for (left, right) in left_fours.zip(right_fours) {
        let sums = [left[0] + right[0], left[1] + right[1], left[2] + right[2], left[3] + right[3]];
        least = [
            lesser(sums[0], least[0]),
            lesser(sums[1], least[1]),
            lesser(sums[2], least[2]),
            lesser(sums[3], least[3]),
        ];
    }
    let rest = rest.fold(f64::INFINITY, |least, (left, right)| lesser(left + right, least));
    least.into_iter().fold(rest, lesser)
}
