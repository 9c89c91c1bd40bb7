//! Ranges of values in tables of tests, and their combinations.

use crate::bpf_sim::number;
use callgate_tasks::Result;

/// The maximum number of combinations of one line. The longest line of libseccomp 2.6.1 has 351.
const MAX_COMBINATIONS: u64 = 1 << 20;

/// Consecutive values, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values {
    first: u64,
    last: u64,
}

impl Values {
    /// Of an argument that does not matter.
    pub(super) const ZERO: Values = Values { first: 0, last: 0 };

    pub(super) fn new(first: u64, last: u64) -> Result<Values> {
        match first <= last {
            true => Ok(Values { first, last }),
            false => Err(format!("the first value of a range, {first}, is above the last, {last}")),
        }
    }

    /// The range of a column: `5`, `0x10-0x1f`.
    pub(super) fn parse(column: &str) -> Result<Values> {
        let (first, last) = ends(column);
        Values::new(whole(first)?, whole(last)?)
    }
}

/// The first and the last value of a column. Only characters of numbers may be around the dash of a range, so `-1`
/// is one value.
pub(super) fn ends(column: &str) -> (&str, &str) {
    let is_number =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit() || c == 'x');
    match column.split_once('-') {
        Some((first, last)) if is_number(first) && is_number(last) => (first, last),
        _ => (column, column),
    }
}

/// A number without any text around it.
pub(super) fn whole(text: &str) -> Result<u64> {
    match number(text) {
        (value, "") if !text.is_empty() => Ok(value),
        _ => Err(format!("{text:?} is not a number")),
    }
}

/// All combinations of values, one of each range; the last range changes first.
pub(super) fn combinations<const N: usize>(
    ranges: [Values; N],
) -> Result<impl Iterator<Item = [u64; N]>> {
    let sizes = ranges.map(|range| (range.last - range.first).saturating_add(1));
    let count = sizes.iter().fold(1, |product: u64, size| product.saturating_mul(*size));
    if count > MAX_COMBINATIONS {
        return Err(format!("{count} combinations of values, and the limit is {MAX_COMBINATIONS}"));
    }
    Ok((0..count).map(move |mut index| {
        let mut values = ranges.map(|range| range.first);
        for (value, size) in values.iter_mut().zip(sizes).rev() {
            *value += index % size;
            index /= size;
        }
        values
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_values_or_ranges() {
        assert_eq!(Values::parse("7"), Values::new(7, 7));
        assert_eq!(Values::parse("0x10-0x1F"), Values::new(16, 31));
        assert_eq!(Values::parse("-1"), Values::new(u64::MAX, u64::MAX));
        for column in ["9-3", "", "7z", "read"] {
            assert!(Values::parse(column).is_err(), "{column}");
        }
        assert_eq!(ends("0-350"), ("0", "350"));
        assert_eq!(ends("a-syscall"), ("a-syscall", "a-syscall"));
    }

    #[test]
    fn the_last_range_changes_first() {
        let ranges = [(3, 4), (7, 7), (0, 2)].map(|(first, last)| Values { first, last });
        let expected = [[3, 7, 0], [3, 7, 1], [3, 7, 2], [4, 7, 0], [4, 7, 1], [4, 7, 2]];
        assert_eq!(combinations(ranges).unwrap().collect::<Vec<_>>(), expected);
        let largest = Values { first: u64::MAX, last: u64::MAX };
        assert_eq!(combinations([largest]).unwrap().collect::<Vec<_>>(), [[u64::MAX]]);
    }

    #[test]
    fn too_many_combinations_are_refused() {
        let all = Values { first: 0, last: u64::MAX };
        let error = combinations([all, all]).err().unwrap();
        assert!(error.contains("combinations of values, and the limit is 1048576"), "{error}");
    }
}
