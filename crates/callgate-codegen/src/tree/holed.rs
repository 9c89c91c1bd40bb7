//! Solutions of ranges with holes.

/// The intervals `low..=high` without the `holes` heaviest single values among them, which earlier equality tests
/// have excluded.
pub(super) type Range = (usize, usize, usize);

/// The solutions that were found so far, by range: a cost and a choice, or a lower bound of the cost. Few ranges have any,
/// and these have few; the latest of several for the same range applies.
pub(super) struct HoledRanges<T> {
    /// By [number](super::plain_costs::PlainCosts::number) of the range, the number of the solution that was found last, from 1.
    /// Empty until one is found.
    last: Vec<u32>,
    /// The number of ranges.
    ranges: usize,
    solutions: Vec<Solution<T>>,
}

struct Solution<T> {
    holes: u32,
    /// The number of the solution of the same range that was found before, or 0.
    before: u32,
    found: (f64, Option<T>),
}

impl<T: Copy> HoledRanges<T> {
    /// No solutions, for this number of ranges.
    pub(super) fn new(ranges: usize) -> HoledRanges<T> {
        HoledRanges { last: Vec::new(), ranges, solutions: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn get(&self, range: usize, holes: usize) -> Option<(f64, Option<T>)> {
        let mut number = self.last.get(range).copied().unwrap_or(0);
        while let Some(at) = number.checked_sub(1) {
            let solution = &self.solutions[at as usize];
            if solution.holes == holes as u32 {
                return Some(solution.found);
            }
            number = solution.before;
        }
        None
    }

    pub(super) fn insert(&mut self, range: usize, holes: usize, found: (f64, Option<T>)) {
        self.last.resize(self.ranges, 0);
        let last = &mut self.last[range];
        self.solutions.push(Solution { holes: holes as u32, before: *last, found });
        *last = self.solutions.len() as u32;
    }
}
