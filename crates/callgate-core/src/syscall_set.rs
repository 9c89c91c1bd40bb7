//! Sets of syscall numbers.

/// A set of 32-bit numbers as sorted, disjoint, non-adjacent, inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SyscallSet {
    ranges: Vec<(u32, u32)>,
}

impl SyscallSet {
    /// One number.
    pub fn one(nr: u32) -> SyscallSet {
        SyscallSet { ranges: vec![(nr, nr)] }
    }

    /// All numbers from `first` to `last`, both included; empty when `first > last`.
    pub fn range(first: u32, last: u32) -> SyscallSet {
        SyscallSet { ranges: if first <= last { vec![(first, last)] } else { Vec::new() } }
    }

    /// The union of inclusive ranges.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> SyscallSet {
        let ranges = ranges.into_iter();
        let mut sorted: Vec<(u32, u32)> = Vec::with_capacity(ranges.size_hint().0);
        sorted.extend(ranges.filter(|(a, b)| a <= b));
        sorted.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match ranges.last_mut() {
                Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        SyscallSet { ranges }
    }

    /// The ranges: sorted, disjoint, non-adjacent, inclusive.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `nr` is in the set.
    pub fn contains(&self, nr: u32) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= nr);
        after.checked_sub(1).and_then(|i| self.ranges.get(i)).is_some_and(|(_, last)| nr <= *last)
    }
}

impl FromIterator<u32> for SyscallSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> SyscallSet {
        SyscallSet::from_ranges(numbers.into_iter().map(|nr| (nr, nr)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_normalized() {
        let set = SyscallSet::from_ranges([(5, 6), (1, 2), (3, 3), (9, 8), (6, 7)]);
        assert_eq!(set.ranges(), [(1, 3), (5, 7)]);
        assert_eq!([4, 2, 1, 3].into_iter().collect::<SyscallSet>(), SyscallSet::range(1, 4));
        let top = SyscallSet::from_ranges([(u32::MAX, u32::MAX), (0, 0), (u32::MAX - 1, u32::MAX)]);
        assert_eq!(top.ranges(), [(0, 0), (u32::MAX - 1, u32::MAX)]);
        for nr in 0..10 {
            assert_eq!(set.contains(nr), [1, 2, 3, 5, 6, 7].contains(&nr), "{nr}");
        }
        assert_eq!(SyscallSet::one(7).ranges(), [(7, 7)]);
        assert!(SyscallSet::range(2, 1).is_empty() && !set.is_empty());
    }
}
